"""Why calls fail: an exception for every status below 0, below `QueueError`."""

from __future__ import annotations

from typing import ClassVar

from ._library import CData, ffi, lib, string
from .status import Status


class QueueError(Exception):
    """Why a call failed. Outcomes that are to be expected are values; this is for mistakes and failures.

    `status` is the result of the call; `sqlstate` the five characters of the SQLSTATE, None when neither driver nor
    server gave one; `native_code` the server's own number of the error, 0 when there is none. `retryable` is whether
    the same call may succeed a little later; the library has tried for as long as the setting `retry.budget_ms` says.
    """

    _classes: ClassVar[dict[Status, type[QueueError]]] = {}

    def __init_subclass__(cls, status: Status | None = None) -> None:
        if status is not None:
            cls._classes[status] = cls

    def __init__(
        self,
        message: str,
        status: Status,
        sqlstate: str | None = None,
        native_code: int = 0,
        retryable: bool = False,
        operation: str | None = None,
    ) -> None:
        # All of them are args, with which an exception is pickled on its way to another process.
        super().__init__(message, status, sqlstate, native_code, retryable, operation)
        self.message = message
        self.status = status
        self.sqlstate = sqlstate
        self.native_code = native_code
        self.retryable = retryable
        #: With `OutcomeUnknownError`, the identity of the call. Make the same call with it as its operation to learn
        #: what became of the first: it is not applied twice.
        self.operation = operation

    def __str__(self) -> str:
        return self.message


class UsageError(QueueError):
    """The call, or the order of calls, is wrong."""


class InvalidArgumentError(UsageError, ValueError, status=Status.INVALID_ARGUMENT):
    """An argument is NULL, out of its range or not UTF-8; the message names it. Nothing was sent to the server."""


class InvalidHandleError(UsageError, status=Status.INVALID_HANDLE):
    """The handle is null, freed, of another type, or not one of ours. Not to be seen through this package."""


class InvalidConfigError(UsageError, ValueError, status=Status.INVALID_CONFIG):
    """A setting is unknown, out of its range, or missing."""


class InvalidItemError(UsageError, ValueError, status=Status.INVALID_ITEM):
    """A new item does not fit the queue: not an object, unknown column, wrong type, value too long."""


class UnsupportedError(UsageError, status=Status.UNSUPPORTED):
    """The caller was built with a newer header and uses what this library does not know."""


class ClosedError(UsageError, status=Status.CLOSED):
    """The queue was closed."""


class ForkedError(UsageError, status=Status.FORKED):
    """The handle is from before a fork. Open what the child process needs in the child."""


class ExhaustedError(QueueError, status=Status.EXHAUSTED):
    """The process has run out of memory, of file descriptors or of handles; the message says of what."""


class PanicError(QueueError, status=Status.PANIC):
    """A bug in readpast. The object of the call is of no use any more; close it."""


class SchemaError(QueueError):
    """The objects that are installed in the database do not fit."""


class UnknownQueueError(SchemaError, status=Status.UNKNOWN_QUEUE):
    """The schema holds no queue of that name."""


class SchemaMissingError(SchemaError, status=Status.SCHEMA_MISSING):
    """readpast's own objects are not installed in the schema."""


class SchemaOlderError(SchemaError, status=Status.SCHEMA_OLDER):
    """The objects in the schema are older than this library: install again to upgrade them."""


class SchemaNewerError(SchemaError, status=Status.SCHEMA_NEWER):
    """The objects in the schema are newer than this library: upgrade the library."""


class SchemaMismatchError(SchemaError, status=Status.SCHEMA_MISMATCH):
    """The queue's table or procedures differ from what was installed."""


class NotProvidedError(SchemaError, status=Status.NOT_PROVIDED):
    """The queue cannot do this: its procedures were written by hand and have nothing for it,
    or it has no index for the kinds asked for."""


class ConnectError(QueueError):
    """There is no connection."""


class DriverMissingError(ConnectError, status=Status.DRIVER_MISSING):
    """The ODBC driver that the connection string names is not installed."""


class UnreachableError(ConnectError, status=Status.UNREACHABLE):
    """No server answered at the address."""


class AuthenticationError(ConnectError, status=Status.AUTHENTICATION):
    """The server refused the user name or password."""


class DatabaseMissingError(ConnectError, status=Status.DATABASE_MISSING):
    """The database does not exist, or the user may not open it."""


class EncryptionError(ConnectError, status=Status.ENCRYPTION):
    """Client and server could not agree on encryption, or the certificate is not trusted."""


class ConnectionLostError(ConnectError, status=Status.CONNECTION_LOST):
    """The connection broke in use."""


class ServerError(QueueError):
    """The server refused, or did not answer."""


class PermissionDeniedError(ServerError, status=Status.PERMISSION_DENIED):
    """The login lacks a right."""


class TimedOutError(ServerError, status=Status.TIMED_OUT):
    """The server did not answer in time, or a lock was not granted in time."""


class DeadlockError(ServerError, status=Status.DEADLOCK):
    """The statement was chosen as a deadlock victim, or lost a serialization conflict."""


class UnavailableError(ServerError, status=Status.UNAVAILABLE):
    """The server is failing over, starting, or throttling; a later attempt may succeed."""


class StorageError(ServerError, status=Status.STORAGE):
    """The server cannot write: disk full, quota reached, database or server read-only."""


class OutcomeUnknownError(ServerError, status=Status.OUTCOME_UNKNOWN):
    """The connection was lost at a moment that leaves the outcome open, and it could not be learnt in time.

    Make the same call with this exception's `operation`.
    """


class DatabaseError(ServerError, status=Status.DATABASE):
    """The server refused the statement for a reason that no other status names."""


class ProtocolError(ServerError, status=Status.PROTOCOL):
    """The server's answer does not have the shape that the installed procedures give."""


class PoolTimeoutError(ServerError, status=Status.POOL_TIMEOUT):
    """All connections of the queue's pool were in use for as long as `pool.acquire_ms` says."""


def place_for_error() -> CData:
    """Where a call that can fail puts its error."""
    return ffi.new("readpast_error *")


def checked(status: int, error: CData) -> Status:
    """Raises if a call failed; takes the error over."""
    if status >= 0:
        return Status(status)
    failed = Status(status)
    handle = error[0]
    try:
        raise QueueError._classes.get(failed, QueueError)(
            string(lib.readpast_error_message(handle)) or failed.c_name,
            failed,
            string(lib.readpast_error_sqlstate(handle)),
            lib.readpast_error_native_code(handle),
            lib.readpast_error_is_retryable(handle) != 0,
            string(lib.readpast_error_operation(handle)),
        )
    finally:
        lib.readpast_error_free(handle)


def refused(message: str) -> InvalidArgumentError:
    """The error of a call that is refused before the library is asked."""
    return InvalidArgumentError(message, Status.INVALID_ARGUMENT)
