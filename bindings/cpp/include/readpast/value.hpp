// The value of one column of one item.
#ifndef READPAST_VALUE_HPP
#define READPAST_VALUE_HPP

#include <readpast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace readpast {

/// The type of a column's values.
enum class column_type : std::int32_t {
    boolean = READPAST_TYPE_BOOLEAN,     ///< True or false.
    integer = READPAST_TYPE_INTEGER,     ///< A whole number of up to 64 bits.
    floating = READPAST_TYPE_FLOAT,      ///< A binary floating point number.
    decimal = READPAST_TYPE_DECIMAL,     ///< An exact decimal number, as text like "-12.50".
    text = READPAST_TYPE_TEXT,           ///< Text.
    binary = READPAST_TYPE_BINARY,       ///< Bytes.
    timestamp = READPAST_TYPE_TIMESTAMP, ///< A date and time in UTC, as text like "2026-11-21T08:30:00.1234567".
    date = READPAST_TYPE_DATE,           ///< A date, as text like "2026-11-21".
    guid = READPAST_TYPE_GUID,           ///< A GUID, as text.
    json = READPAST_TYPE_JSON,           ///< A JSON document, as text; what others wrote there need not be JSON.
};

/// The name of a type as readpast.h spells it after READPAST_TYPE_; "?" for one that is not known.
[[nodiscard]] constexpr std::string_view name(column_type type) noexcept {
    switch (type) {
    case column_type::boolean: return "BOOLEAN";
    case column_type::integer: return "INTEGER";
    case column_type::floating: return "FLOAT";
    case column_type::decimal: return "DECIMAL";
    case column_type::text: return "TEXT";
    case column_type::binary: return "BINARY";
    case column_type::timestamp: return "TIMESTAMP";
    case column_type::date: return "DATE";
    case column_type::guid: return "GUID";
    case column_type::json: return "JSON";
    }
    return "?";
}

/// Bytes that a batch holds: what std::span<const std::uint8_t> is in C++20.
class bytes {
public:
    using value_type = std::uint8_t;
    using const_iterator = const std::uint8_t *;
    using iterator = const_iterator;

    bytes() noexcept = default;
    bytes(const std::uint8_t *data, std::size_t size) noexcept : data_(data), size_(size) {}

    [[nodiscard]] const std::uint8_t *data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] const_iterator begin() const noexcept { return data_; }
    [[nodiscard]] const_iterator end() const noexcept { return data_ + size_; }

private:
    const std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
};

/// The value of one column of one item; its text and bytes are the batch's. To read it as something that its column does
/// not hold throws with status::invalid_argument, also when it is NULL; NULL itself is std::nullopt.
class value {
public:
    explicit value(const readpast_value &raw) noexcept : raw_(raw) {}

    [[nodiscard]] column_type type() const noexcept { return static_cast<column_type>(raw_.type); }
    [[nodiscard]] bool is_null() const noexcept { return raw_.is_null != 0; }

    [[nodiscard]] std::optional<bool> boolean() const {
        return holds(column_type::boolean) ? std::optional(raw_.integer != 0) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::int64_t> integer() const {
        return holds(column_type::integer) ? std::optional(raw_.integer) : std::nullopt;
    }
    [[nodiscard]] std::optional<double> floating() const {
        return holds(column_type::floating) ? std::optional(raw_.number) : std::nullopt;
    }
    [[nodiscard]] std::optional<bytes> binary() const {
        return holds(column_type::binary) ? std::optional(bytes(raw_.bytes, raw_.length)) : std::nullopt;
    }

    /// Text; of a decimal, timestamp, date, GUID or JSON document its exact text. A NUL comes after it.
    [[nodiscard]] std::optional<std::string_view> text() const {
        const bool has_text = type() == column_type::decimal || type() == column_type::timestamp ||
                              type() == column_type::date || type() == column_type::guid || type() == column_type::json;
        return holds(has_text ? type() : column_type::text) ? std::optional(std::string_view(raw_.text, raw_.length))
                                                            : std::nullopt;
    }

private:
    /// Whether there is such a value; throws if there cannot be.
    [[nodiscard]] bool holds(column_type wanted) const {
        if (type() != wanted)
            throw error(status::invalid_argument, "the column holds " + std::string(name(type())) +
                                                      ", and is read as " + std::string(name(wanted)));
        return !is_null();
    }

    readpast_value raw_;
};

} // namespace readpast

#endif
