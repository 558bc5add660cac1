// Keeps leases.
#ifndef READPAST_RENEWAL_HPP
#define READPAST_RENEWAL_HPP

#include <readpast/batch.hpp>
#include <readpast/detail/handle.hpp>
#include <readpast/error.hpp>
#include <readpast/queue.hpp>
#include <readpast/text.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace readpast {

/// Renews the leases of a batch while its items are worked on, on a thread of the library. It needs neither queue nor batch
/// to stay. Destroying it waits for a round under way; leases stay as they are.
class renewal {
public:
    /// Every third of a lease, which leaves time for two more tries.
    renewal(const queue &queue, const batch &items)
        : renewal(queue, items, std::max(queue.lease() / 3, std::chrono::milliseconds(1))) {}

    /// Every `interval`, from 1 ms to a day.
    renewal(const queue &queue, const batch &items, std::chrono::milliseconds interval) {
        readpast_renewal raw = {0};
        detail::call(readpast_renewal_start, queue.native_handle(), items.native_handle(),
                     std::int64_t{interval.count()}, &raw);
        handle_ = handle(raw);
    }

    /// Stops to renew an item: to be called when it is settled. False when it was not, or not any more, renewed.
    bool release(const text &key) const {
        return detail::call(readpast_renewal_release, handle_.get(), key.c_str()) == status::ok;
    }

    /// How many items were found lost so far: their leases had run out, or an operator took them. Work on them is in vain.
    [[nodiscard]] std::size_t lost_count() const noexcept {
        return static_cast<std::size_t>(readpast_renewal_lost_count(handle_.get()));
    }

    /// Whether an item was found lost.
    [[nodiscard]] bool has_lost(std::string_view key) const noexcept {
        for (std::int32_t i = 0; const char *lost = readpast_renewal_lost_key(handle_.get(), i); i++)
            if (key == lost)
                return true;
        return false;
    }

    /// The keys of the items that were found lost so far.
    [[nodiscard]] std::vector<std::string> lost_keys() const {
        std::vector<std::string> keys;
        for (std::int32_t i = 0; const char *lost = readpast_renewal_lost_key(handle_.get(), i); i++)
            keys.emplace_back(lost);
        return keys;
    }

    /// For calls of the C library; remains this object's.
    [[nodiscard]] readpast_renewal native_handle() const noexcept { return handle_.get(); }

private:
    using handle = detail::handle<readpast_renewal, readpast_renewal_free>;
    handle handle_;
};

} // namespace readpast

#endif
