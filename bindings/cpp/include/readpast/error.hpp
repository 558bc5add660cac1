// Why a call failed.
#ifndef READPAST_ERROR_HPP
#define READPAST_ERROR_HPP

#include <readpast/detail/handle.hpp>
#include <readpast/status.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace readpast {

/// The details of a failure besides its status and message.
struct diagnosis {
    std::string sqlstate;         ///< Five characters, or empty.
    std::int32_t native_code = 0; ///< The server's own number, or 0.
    bool retryable = false;       ///< See error::retryable.
    std::string operation;        ///< See error::operation; or empty.
};

/// Why a call failed. what() is one line for a person: what is wrong and, where there is one, the remedy. It holds no
/// passwords.
class error : public std::runtime_error {
public:
    /// Public for those who test what their program does about a failure.
    error(readpast::status status, const std::string &message, diagnosis known = {})
        : std::runtime_error(message), status_(status), known_(std::make_shared<const diagnosis>(std::move(known))) {}

    // Moving is copying: what was moved from is still an error.
    error(const error &) = default;
    error &operator=(const error &) = default;
    ~error() override = default;

    /// The result of the call: a status below 0.
    [[nodiscard]] readpast::status status() const noexcept { return status_; }

    /// The five characters of the SQLSTATE, when a driver or server gave one. Lives as long as the error or a copy.
    [[nodiscard]] std::optional<std::string_view> sqlstate() const noexcept { return some(known_->sqlstate); }

    /// The server's own number of the error, on SQL Server; 0 when there is none.
    [[nodiscard]] std::int32_t native_code() const noexcept { return known_->native_code; }

    /// Whether the same call may succeed when it is made again a little later. The library has retried already, for as
    /// long as the setting retry.budget_ms says.
    [[nodiscard]] bool retryable() const noexcept { return known_->retryable; }

    /// The identity of the call, when its outcome is unknown: see outcome_unknown. Lives as long as the error or a copy.
    [[nodiscard]] std::optional<std::string_view> operation() const noexcept { return some(known_->operation); }

private:
    static std::optional<std::string_view> some(const std::string &text) noexcept {
        return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
    }

    readpast::status status_;
    std::shared_ptr<const diagnosis> known_; // shared, since to copy an exception must not throw
};

/// A failure that may pass by itself: a lost connection, a server that is starting, a full pool. Nothing was done; the
/// same call may be made again a little later.
class transient_error : public error {
public:
    using error::error;
};

/// The connection was lost at a moment that leaves open whether the call was carried out, and it could not be learnt in
/// time. Make the same call with operation() as its operation: it is not applied twice, and answers what the first would
/// have. (No transient_error, whose handlers need not know of operations.)
class outcome_unknown : public error {
public:
    using error::error;
};

namespace detail {

inline std::string text_or(const char *text, std::string_view otherwise) {
    return std::string(text != nullptr ? std::string_view(text) : otherwise);
}

/// Throws what a failed call has left, and frees it.
[[noreturn]] inline void raise(status failed, readpast_error left) {
    const handle<readpast_error, readpast_error_free> owner(left);
    const std::string message = text_or(readpast_error_message(left), name(failed));
    diagnosis known;
    known.sqlstate = text_or(readpast_error_sqlstate(left), {});
    known.native_code = readpast_error_native_code(left);
    known.retryable = readpast_error_is_retryable(left) != 0;
    known.operation = text_or(readpast_error_operation(left), {});
    if (!known.operation.empty())
        throw outcome_unknown(failed, message, std::move(known));
    if (known.retryable)
        throw transient_error(failed, message, std::move(known));
    throw error(failed, message, std::move(known));
}

/// Calls a function of the library whose last argument is where an error goes. Throws if it fails.
template <class Function, class... Arguments> status call(Function *function, Arguments... arguments) {
    readpast_error left = {0};
    const auto answer = static_cast<status>(function(arguments..., &left));
    if (answer < status::ok)
        raise(answer, left);
    return answer;
}

} // namespace detail
} // namespace readpast

#endif
