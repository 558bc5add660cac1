// The result of a call.
#ifndef READPAST_STATUS_HPP
#define READPAST_STATUS_HPP

#include <readpast.h>

#include <cstdint>
#include <string_view>

namespace readpast {

/// The result of a call: 0 is success, above 0 are outcomes to be expected, below 0 failures, which are thrown. Later
/// versions of the library may have others; below 0, they are failures as well.
enum class status : std::int32_t {
    /// Done.
    ok = READPAST_OK,
    /// No item was due.
    empty = READPAST_EMPTY,
    /// The worker does not hold the item any more: its lease ran out and the item was given back, or an operator took it.
    lease_lost = READPAST_LEASE_LOST,
    /// The token is not the item's any more: another call changed the item since.
    conflict = READPAST_CONFLICT,
    /// The item's state does not allow it.
    illegal_transition = READPAST_ILLEGAL_TRANSITION,
    /// There is no such item.
    not_found = READPAST_NOT_FOUND,
    /// queue::interrupt was called, and queue::resume was not.
    interrupted = READPAST_INTERRUPTED,
    /// The same work is in the queue already: nothing was enqueued for it.
    duplicate = READPAST_DUPLICATE,

    /// An argument is missing, out of its range or not UTF-8; the message names it. Nothing was sent to the server.
    invalid_argument = READPAST_INVALID_ARGUMENT,
    /// The object was moved from.
    invalid_handle = READPAST_INVALID_HANDLE,
    /// A setting is unknown, out of its range, or missing.
    invalid_config = READPAST_INVALID_CONFIG,
    /// A new item does not fit the queue.
    invalid_item = READPAST_INVALID_ITEM,
    /// The library is not the one that the program was built for.
    unsupported = READPAST_UNSUPPORTED,
    /// The queue was closed.
    closed = READPAST_CLOSED,
    /// The object is from before a fork. Open what the child process needs in the child.
    forked = READPAST_FORKED,
    /// This process has run out of memory, of file descriptors or of objects; the message says of what.
    exhausted = READPAST_EXHAUSTED,
    /// A bug in readpast.
    panic = READPAST_PANIC,

    /// The schema holds no queue of that name.
    unknown_queue = READPAST_UNKNOWN_QUEUE,
    /// readpast's own objects are not installed in the schema.
    schema_missing = READPAST_SCHEMA_MISSING,
    /// The objects in the schema are older than the library: install again.
    schema_older = READPAST_SCHEMA_OLDER,
    /// The objects in the schema are newer than the library.
    schema_newer = READPAST_SCHEMA_NEWER,
    /// The queue's table or procedures differ from what was installed.
    schema_mismatch = READPAST_SCHEMA_MISMATCH,
    /// The queue's procedures were written by hand, and have nothing for this.
    not_provided = READPAST_NOT_PROVIDED,

    /// The ODBC driver that the connection string names is not installed.
    driver_missing = READPAST_DRIVER_MISSING,
    /// No server answered at the address.
    unreachable = READPAST_UNREACHABLE,
    /// The server refused the user name or password.
    authentication = READPAST_AUTHENTICATION,
    /// The database does not exist, or the user may not open it.
    database_missing = READPAST_DATABASE_MISSING,
    /// Client and server could not agree on encryption, or the certificate is not trusted.
    encryption = READPAST_ENCRYPTION,
    /// The connection broke in use.
    connection_lost = READPAST_CONNECTION_LOST,

    /// The login lacks a right.
    permission_denied = READPAST_PERMISSION_DENIED,
    /// The server did not answer in time, or a lock was not granted in time.
    timed_out = READPAST_TIMED_OUT,
    /// The statement was chosen as a deadlock victim, or lost a serialization conflict.
    deadlock = READPAST_DEADLOCK,
    /// The server is failing over, starting, or throttling.
    unavailable = READPAST_UNAVAILABLE,
    /// The server cannot write: disk full, quota reached, database or server read-only.
    storage = READPAST_STORAGE,
    /// The connection was lost at a moment that leaves the outcome open: see outcome_unknown.
    outcome_unknown = READPAST_OUTCOME_UNKNOWN,
    /// The server refused the statement for a reason that no other status names.
    database = READPAST_DATABASE,
    /// The server's answer does not have the shape that the installed procedures give.
    protocol = READPAST_PROTOCOL,
    /// All connections of the queue's pool were in use for too long.
    pool_timeout = READPAST_POOL_TIMEOUT,
};

/// The name of a status as readpast.h spells it, "READPAST_EMPTY"; "READPAST_?" for one that the library does not know.
[[nodiscard]] inline std::string_view name(status value) noexcept {
    return readpast_status_name(static_cast<readpast_status>(value));
}

} // namespace readpast

#endif
