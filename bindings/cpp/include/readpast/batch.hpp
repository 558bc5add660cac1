// The items of one claim.
#ifndef READPAST_BATCH_HPP
#define READPAST_BATCH_HPP

#include <readpast/detail/handle.hpp>
#include <readpast/error.hpp>
#include <readpast/item.hpp>
#include <readpast/text.hpp>
#include <readpast/value.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace readpast {

/// A column of the items.
struct column {
    std::string_view name; ///< As the worker view declares it. Lives as long as the batch.
    column_type type;      ///< The type of its values.
};

/// The items of one claim, in the order they were due; empty when nothing was due. A range: `for (auto &item : batch)`.
///
/// It owns what its items show, and does not need its queue, which may be closed or destroyed before. Its values stay
/// where they are when it is moved. Destroying it leaves the items claimed: settle them, or their leases run out.
class batch {
public:
    using value_type = item;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = const item &;
    using const_reference = const item &;
    using const_iterator = std::vector<item>::const_iterator;
    using iterator = const_iterator;

    /// Without items.
    batch() noexcept = default;

    /// Takes over what a call of the C library claimed or found, and the status that it returned.
    batch(readpast::status status, readpast_batch raw) : status_(status), handle_(raw), items_(items_of(raw)) {}

    /// Items that no queue handed out, for the test of a handler: an array like `[{"columns": {"Recipient": "a@example.org"}}]`,
    /// where an item may have besides "key", "token", "attempt" (1 when left out) and "state". With `spec`, the description
    /// of a queue, they have its columns and types; without it, the values decide the types. Nothing is sent to a server.
    [[nodiscard]] static batch from_json(const text &items, const text &spec = nullptr) {
        readpast_batch raw = {0};
        const auto answer = detail::call(readpast_batch_from_json, items.c_str(), spec.c_str(), &raw);
        return {answer, raw};
    }

    /// status::ok when there are items, else status::empty or status::interrupted.
    [[nodiscard]] readpast::status status() const noexcept { return status_; }

    /// Whether there are items.
    explicit operator bool() const noexcept { return !empty(); }

    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
    [[nodiscard]] const_iterator begin() const noexcept { return items_.begin(); }
    [[nodiscard]] const_iterator end() const noexcept { return items_.end(); }

    /// The item at `index`, counted from 0. Throws std::out_of_range when there is none.
    [[nodiscard]] const item &operator[](std::size_t index) const {
        if (index < items_.size())
            return items_[index];
        throw std::out_of_range("item " + std::to_string(index) + " of a batch of " + std::to_string(items_.size()));
    }

    /// The columns that all items have.
    [[nodiscard]] std::vector<column> columns() const {
        std::vector<column> all;
        for (std::int32_t i = 0, count = readpast_batch_column_count(handle_.get()); i < count; i++) {
            readpast_column raw = READPAST_COLUMN_INIT;
            detail::call(readpast_batch_column, handle_.get(), i, &raw);
            all.push_back({raw.name, static_cast<column_type>(raw.type)});
        }
        return all;
    }

    /// For calls of the C library; remains this object's.
    [[nodiscard]] readpast_batch native_handle() const noexcept { return handle_.get(); }

private:
    static std::vector<item> items_of(readpast_batch raw) {
        std::vector<item> items;
        const std::int32_t count = readpast_batch_count(raw);
        items.reserve(static_cast<std::size_t>(count));
        for (std::int32_t i = 0; i < count; i++) {
            readpast_item each = READPAST_ITEM_INIT;
            detail::call(readpast_batch_item, raw, i, &each);
            items.push_back(item(raw, i, each));
        }
        return items;
    }

    readpast::status status_ = readpast::status::empty;
    detail::handle<readpast_batch, readpast_batch_free> handle_;
    std::vector<item> items_;
};

} // namespace readpast

#endif
