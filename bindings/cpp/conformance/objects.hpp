// The objects by the names that the driver gave them.
#ifndef OBJECTS_HPP
#define OBJECTS_HPP

#include <readpast.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// Objects of one kind. Any thread. One that is let go lives until the calls have ended that use it.
template <class Object> class table {
public:
    /// A name given again is the new object's.
    void keep(const std::string &name, Object made) {
        auto object = std::make_shared<const Object>(std::move(made));
        const std::scoped_lock guard(lock_);
        objects_[name].swap(object);
    }

    std::shared_ptr<const Object> get(const std::string &name) const {
        const std::scoped_lock guard(lock_);
        const auto found = objects_.find(name);
        if (found == objects_.end())
            throw readpast::error(readpast::status::invalid_handle, "nothing is called " + name + " any more");
        return found->second;
    }

    void let_go(const std::string &name) {
        const std::scoped_lock guard(lock_);
        objects_.erase(name);
    }

    std::vector<std::shared_ptr<const Object>> all() const {
        const std::scoped_lock guard(lock_);
        std::vector<std::shared_ptr<const Object>> found;
        found.reserve(objects_.size());
        for (const auto &[name, object] : objects_)
            found.push_back(object);
        return found;
    }

private:
    mutable std::mutex lock_;
    std::map<std::string, std::shared_ptr<const Object>> objects_;
};

struct objects {
    table<readpast::queue> queues;
    table<readpast::batch> batches;
    table<readpast::renewal> renewals;
};

#endif
