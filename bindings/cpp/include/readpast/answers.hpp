// The answers about several items.
#ifndef READPAST_ANSWERS_HPP
#define READPAST_ANSWERS_HPP

#include <readpast/status.hpp>

#include <cstddef>
#include <vector>

namespace readpast {

/// The answers to a call on several items, in the order of the items: a range of outcome or receipt.
template <class Answer> class answers {
public:
    using value_type = Answer;
    using const_iterator = typename std::vector<Answer>::const_iterator;
    using iterator = const_iterator;

    answers() noexcept = default;

    /// The answers as the C library wrote them, with the status that it returned.
    template <class Raw>
    answers(readpast::status status, const std::vector<Raw> &raw) : status_(status), all_(raw.begin(), raw.end()) {}

    /// status::ok, or the answer of the first item that was refused.
    [[nodiscard]] readpast::status status() const noexcept { return status_; }

    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
    [[nodiscard]] const_iterator begin() const noexcept { return all_.begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return all_.end(); }

    /// The answer for the item at `index`. Throws std::out_of_range when there is none.
    [[nodiscard]] const Answer &operator[](std::size_t index) const { return all_.at(index); }

private:
    readpast::status status_ = readpast::status::ok;
    std::vector<Answer> all_;
};

} // namespace readpast

#endif
