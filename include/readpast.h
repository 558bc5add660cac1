/*
 * readpast: work queues in ordinary SQL Server tables (and PostgreSQL).
 *
 * Made from src/ffi by cbindgen; do not edit. This file is the documentation of the C API.
 *
 * Handles. A handle, like readpast_queue or readpast_batch, is a number in a struct, passed by value, never an address.
 * {0} is the null handle. A handle that is null, freed, of another type or made up gives READPAST_INVALID_HANDLE, and its
 * accessors give NULL or 0. Free each handle once, with its _free, in any order; freeing it again, or freeing the null
 * handle, is a no-op.
 *
 * Status. Calls that can fail return a readpast_status: 0 is success, above 0 are expected outcomes, below 0 are failures.
 * Each function lists the statuses to decide on. Every call on a handle can also return READPAST_INVALID_HANDLE,
 * READPAST_FORKED, READPAST_EXHAUSTED and READPAST_PANIC.
 *
 * Errors. The last argument of those calls says where to put a readpast_error, or is NULL. It is always written: with an
 * error when the status is below 0 (free it with readpast_error_free), otherwise with the null handle. No error is kept
 * per thread.
 *
 * Arguments. Text is UTF-8 and ends in NUL. A call borrows its arguments and copies what it keeps; only _free takes
 * ownership of anything. NULL is allowed where the function says so, and is READPAST_INVALID_ARGUMENT elsewhere. The
 * library cannot recognise a pointer that is neither NULL nor valid.
 *
 * Outputs. An output for a handle is always written, with the null handle if there is none. Other outputs are written
 * when the status is 0 or above, unless the function says otherwise. Text and bytes belong to the handle that lent them
 * and live as long as it; there is nothing else to free.
 *
 * Fence. Token, worker and attempt keep workers that follow the rules from each other's items: a worker that was slow, or
 * taken for dead, cannot undo what another has done since. They are neither secrets nor rights. A login that may execute
 * a queue's procedures for workers is trusted with every item of that queue: it can read the token of an item that
 * another worker holds, and settle it. Put work that must be kept apart into separate queues, or give logins types of
 * their own.
 *
 * Structs. Those with a struct_size grow at their end in later versions: initialise them with their _INIT macro. In an
 * array all have the same size; of an array that a call writes, only the first must be initialised.
 *
 * Threads. Any thread may call any function at any time, with any handle. But do not read what a handle has lent while,
 * or after, the handle is freed. Where a function needs more care, it says so under *Threads*.
 *
 * Time. No call takes longer than its settings say, whatever a driver does. A call that has not returned 5 seconds after
 * query.timeout_ms (to connect: login.timeout_ms) is given up with its connection, and repeated on another one within
 * retry.budget_ms. readpast_queue_given_up counts them.
 *
 * Forks. Connections do not survive a fork: in the child, calls on the parent's handles return READPAST_FORKED, and
 * _close and _free are no-ops. Handles made in the child work there, if no other thread was in a call at the fork: locks
 * of the ODBC driver manager that were held then stay locked in the child.
 *
 * Stability. Within one READPAST_ABI, functions, statuses, settings and trailing fields are added; nothing is changed or
 * removed. Compare it with readpast_abi() when you load the library. Before 1.0, each minor version is an ABI of its own.
 * Additions after 0.1 say since when they exist.
 */

#ifndef READPAST_H
#define READPAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif


/* ---- What every call answers with ---- */

/// Done.
#define READPAST_OK 0

/// No item was due.
#define READPAST_EMPTY 1

/// The worker does not hold the item any more: its lease ran out and another worker may have it, or an operator took it. The item
/// is untouched.
#define READPAST_LEASE_LOST 2

/// The token is not the item's any more: another call changed the item since. The item is untouched.
#define READPAST_CONFLICT 3

/// The item's state does not allow it. The item is untouched.
#define READPAST_ILLEGAL_TRANSITION 4

/// There is no such item or column.
#define READPAST_NOT_FOUND 5

/// `readpast_queue_interrupt` was called, and `readpast_queue_resume` has not been called since.
#define READPAST_INTERRUPTED 6

/// The same work is already in the queue: nothing was enqueued for it.
#define READPAST_DUPLICATE 7

/// An argument is NULL, out of its range or not UTF-8; the message names it. Nothing was sent to the server.
#define READPAST_INVALID_ARGUMENT -1

/// The handle is null, freed, of another type, or not made by this library.
#define READPAST_INVALID_HANDLE -2

/// A setting is unknown, out of its range, or missing.
#define READPAST_INVALID_CONFIG -3

/// A value of a new item, or of a settlement, does not fit the queue: not an object, unknown column, wrong type, value too long.
#define READPAST_INVALID_ITEM -4

/// The caller was built with a newer header and uses something that this library does not know.
#define READPAST_UNSUPPORTED -5

/// The queue was closed.
#define READPAST_CLOSED -6

/// The handle is from before a fork. Open a new one in the child process.
#define READPAST_FORKED -7

/// This process has run out of something: memory, file descriptors, or handles of this library (there may be about a million at
/// once). The message names it.
#define READPAST_EXHAUSTED -8

/// A bug in readpast. The handle is unusable; free it.
#define READPAST_PANIC -9

/// The schema holds no queue of that name.
#define READPAST_UNKNOWN_QUEUE -20

/// readpast's own objects are not installed in the schema.
#define READPAST_SCHEMA_MISSING -21

/// The objects in the schema are older than this library: install again to upgrade them.
#define READPAST_SCHEMA_OLDER -22

/// The objects in the schema are newer than this library: upgrade the library.
#define READPAST_SCHEMA_NEWER -23

/// The queue's table or procedures differ from what was installed.
#define READPAST_SCHEMA_MISMATCH -24

/// The queue cannot do this: its procedures were written by hand and have nothing for it, or it has no index for the
/// kinds asked for.
#define READPAST_NOT_PROVIDED -25

/// The ODBC driver that the connection string names is not installed.
#define READPAST_DRIVER_MISSING -40

/// No server answered at the address.
#define READPAST_UNREACHABLE -41

/// The server refused the user name or password.
#define READPAST_AUTHENTICATION -42

/// The database does not exist, or the user may not open it.
#define READPAST_DATABASE_MISSING -43

/// Client and server could not agree on encryption, or the certificate is not trusted.
#define READPAST_ENCRYPTION -44

/// The connection broke in use.
#define READPAST_CONNECTION_LOST -45

/// The login lacks a right.
#define READPAST_PERMISSION_DENIED -60

/// The server did not answer in time, or a lock was not granted in time.
#define READPAST_TIMED_OUT -61

/// The statement was chosen as a deadlock victim, or lost a serialization conflict.
#define READPAST_DEADLOCK -62

/// The server is failing over, starting, or throttling; a later attempt may succeed.
#define READPAST_UNAVAILABLE -63

/// The server cannot write: disk full, quota reached, database or server read-only.
#define READPAST_STORAGE -64

/// The connection was lost at a moment that leaves the outcome open, and the outcome could not be learnt in time. Make the
/// same call with the identity that `readpast_error_operation` returns.
#define READPAST_OUTCOME_UNKNOWN -65

/// The server refused the statement for a reason that no other status names.
#define READPAST_DATABASE -66

/// The server's answer does not have the shape that the installed procedures return.
#define READPAST_PROTOCOL -67

/// All connections of the queue's pool were in use for as long as `pool.acquire_ms` says.
#define READPAST_POOL_TIMEOUT -68

/// The major version of this header.
#define READPAST_VERSION_MAJOR 0

/// The minor version of this header.
#define READPAST_VERSION_MINOR 1

/// The patch level of this header.
#define READPAST_VERSION_PATCH 0

/// The binary interface of this header. Within one number, functions, statuses and trailing struct fields are added, and
/// nothing is changed or removed.
#define READPAST_ABI 1

/// The result of a call: 0 is success; above 0 are expected outcomes, without an error object; below 0 are failures, with
/// one. Later versions may add numbers; no number ever changes its meaning.
typedef int32_t readpast_status;

/// Why a call failed. Immutable; any number of threads may read it.
///
/// Calls that return a `readpast_status` write one to their last argument when the status is below 0, and the null
/// handle otherwise. Free it with `readpast_error_free`.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_error;

/// A text that a call made. Immutable; any number of threads may read it.
///
/// Made by `readpast_queue_ask`, `readpast_list` and `readpast_metrics`, freed by `readpast_text_free`.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_text;

/// The name of a status, as this header spells it: `"READPAST_EMPTY"`.
///
/// *Ownership*: the text is the library's and lives as long as it.
///
/// *Returns*: text, never NULL; `"READPAST_?"` for a number that this version does not know.
const char *readpast_status_name(readpast_status status);

/// The status that the call returned.
///
/// *Returns*: a status below 0; `READPAST_OK` for an error that is null or freed.
readpast_status readpast_error_status(readpast_error error);

/// One line for a person: what is wrong and, if there is one, the remedy. It has no passwords.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Returns*: text; NULL for an error that is null or freed.
const char *readpast_error_message(readpast_error error);

/// The five characters of the SQLSTATE, if a driver or server gave one.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Returns*: text; NULL when there is none.
const char *readpast_error_sqlstate(readpast_error error);

/// The server's own number of the error, on SQL Server. (Drivers of other servers give a number of their own.)
///
/// *Returns*: the number; 0 when there is none.
int32_t readpast_error_native_code(readpast_error error);

/// Whether the same call may succeed a little later. The library has already retried, for as long as the setting
/// `retry.budget_ms` says.
///
/// *Returns*: 1 or 0.
int32_t readpast_error_is_retryable(readpast_error error);

/// The identity of the operation, when the status is `READPAST_OUTCOME_UNKNOWN`. Make the same call with it as its
/// `operation` to learn what became of the first: it is not applied twice.
///
/// *Ownership*: the text is the error's, until that is freed.
///
/// *Returns*: text; NULL when there is none.
const char *readpast_error_operation(readpast_error error);

/// Frees an error. The null handle, and one that was freed already, are ignored.
void readpast_error_free(readpast_error error);

/// The characters of the text.
///
/// *Ownership*: the characters are the text's, until that is freed.
///
/// *Returns*: UTF-8; NULL for a text that is null or freed.
const char *readpast_text_get(readpast_text text);

/// Frees a text. The null handle, and one that was freed already, are ignored.
void readpast_text_free(readpast_text text);

/// The version of the library at run time: `"0.1.0"`.
///
/// *Ownership*: the text is the library's and lives as long as it.
///
/// *Returns*: text, never NULL.
const char *readpast_version(void);

/// The binary interface of the library at run time. If it is not the `READPAST_ABI` that the caller was built with, the
/// caller must not go on.
///
/// *Returns*: the number.
int32_t readpast_abi(void);



/* ---- Settings, and installing ---- */

/// The settings to open a queue with. Any number of threads may use it; opening copies it.
///
/// Made by `readpast_config_new`, freed by `readpast_config_free`.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_config;

/// Makes a configuration, with all settings at their defaults.
///
/// *Ownership*: the caller frees it with `readpast_config_free`.
///
/// *Returns*: the configuration; the null handle when no more handles fit.
readpast_config readpast_config_new(void);

/// Sets the setting called `key`, like `"lease.ms"`, to `value`, like `"30000"`. The last value counts.
/// docs/reference.md lists the settings; only `"connection"` is required.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_INVALID_CONFIG`: there is no such setting, or it does not take this value. The message names the range.
/// - `READPAST_INVALID_ARGUMENT`: a text is NULL or not UTF-8.
readpast_status readpast_config_set(readpast_config config, const char *key, const char *value, readpast_error *err);

/// Frees a configuration. The null handle, and one that was freed already, are ignored.
///
/// *Threads*: queues that were opened with it stay as they are.
void readpast_config_free(readpast_config config);

/// Installs or upgrades readpast's own objects in the schema that `config` names, and with `spec` also the queue that it
/// describes. A second call changes nothing, so a program can call it at every start. It needs the rights to create
/// objects; workers do not.
///
/// `spec` is like `{"queue": "Notification", "types": ["Email"], "columns": [{"name": "Recipient", "type": "text(254)"}]}`, or
/// the same in TOML, or NULL for no queue. sql/SPEC.md has all keys. It is the description itself, not the name of a file.
///
/// *Threads*: processes that install at the same time wait for each other.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_INVALID_ARGUMENT`: the description has a mistake; the message says where.
/// - `READPAST_SCHEMA_NEWER`: a newer library has installed the objects.
/// - `READPAST_PERMISSION_DENIED`: the login may not create objects in the schema.
/// - any other failure of the connection or the server.
readpast_status readpast_install(readpast_config config,
                                 const char *spec,
                                 readpast_error *err);

/// Lists the queues that are installed in the schema that `config` names, by their names. A login that may use one of them may ask.
///
/// `*queues` is a JSON array of objects: `queue`, its name; `schema`; `own`, true when the items are in a table of readpast's own,
/// which `readpast_drop` drops with them; `table`, the table of its items with its schema, as the catalog has it, null where
/// hand-written procedures hide it; `description`, a text, which is JSON itself.
///
/// *Ownership*: the caller frees `*queues` with `readpast_text_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*queues` holds them; there may be none.
/// - `READPAST_SCHEMA_MISSING`: nothing is installed in the schema.
/// - `READPAST_INVALID_ARGUMENT`: `queues` is NULL.
/// - any other failure of the connection or the server.
readpast_status readpast_list(readpast_config config,
                              readpast_text *queues,
                              readpast_error *err);

/// Drops the queue called `queue` from the schema that `config` names. **It asks nothing.** If the items are in a table of
/// readpast's own, they all go with it, those in work as well. A table that was there before stays with its rows, and loses only
/// the objects that an install added. Objects that the queues of a schema share stay.
///
/// All of it happens in one transaction, under the lock of `readpast_install`. It needs the rights of the login that installed
/// the queue.
///
/// *Threads*: workers that are at work meanwhile get `READPAST_UNKNOWN_QUEUE` from their next call.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_UNKNOWN_QUEUE`: there is no such queue; the message names those that there are.
/// - `READPAST_SCHEMA_MISSING`: nothing is installed in the schema.
/// - `READPAST_INVALID_ARGUMENT`: another queue works on the queue's table.
/// - `READPAST_PERMISSION_DENIED`: the objects are not the login's.
/// - any other failure of the connection or the server.
readpast_status readpast_drop(readpast_config config,
                              const char *queue,
                              readpast_error *err);



/* ---- A queue's handle ---- */

/// An open queue, with its connections and its worker's name. Any number of threads may use it at once; each call takes a
/// connection of its own.
///
/// Made by `readpast_queue_open`, `readpast_queue_share` and `readpast_queue_attach`, freed by `readpast_queue_free`.
/// Batches and renewals made from it may be freed before or after it.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_queue;

/// Opens the queue called `name`. It connects, and checks that the queue is as this library needs it.
///
/// *Ownership*: the caller frees `*queue` with `readpast_queue_free`. `config` is copied: it may be changed and freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*queue` is open.
/// - `READPAST_INVALID_CONFIG`: `"connection"` was not set.
/// - `READPAST_UNKNOWN_QUEUE`, `READPAST_SCHEMA_MISSING`, `READPAST_SCHEMA_OLDER`, `READPAST_SCHEMA_NEWER`,
///   `READPAST_SCHEMA_MISMATCH`: what is installed does not fit; the message names the remedy.
/// - `READPAST_DRIVER_MISSING`, `READPAST_UNREACHABLE`, `READPAST_AUTHENTICATION`, `READPAST_DATABASE_MISSING`,
///   `READPAST_ENCRYPTION`: there is no connection.
/// - any other failure of the server.
readpast_status readpast_queue_open(readpast_config config,
                                    const char *name,
                                    readpast_queue *queue,
                                    readpast_error *err);

/// Makes another handle on the queue. It shares connections, worker and leases with `queue`, and can be interrupted by
/// itself: for a caller that cancels its waits one by one, like those of tasks or requests. An interrupt of `queue` reaches
/// it too, until `queue` is resumed. It is cheap enough for a single claim; nothing is sent to the server.
///
/// *Ownership*: the caller frees `*shared` with `readpast_queue_free`, before or after `queue`. `readpast_queue_close` on
/// one of them closes all; so does freeing the last one.
///
/// *Returns*:
/// - `READPAST_OK`: `*shared` is open, or closed if `queue` is.
readpast_status readpast_queue_share(readpast_queue queue,
                                     readpast_queue *shared,
                                     readpast_error *err);

/// Makes another handle, as `readpast_queue_share` does, on the queue at one of its places, for a queue that is spread over several
/// databases (settings `places.NAME`): for calls that cannot be about all of them, such as `readpast_queue_attach`. Keys have the place
/// before them there, too.
///
/// *Ownership*: the caller frees `*at` with `readpast_queue_free`, before or after `queue`.
///
/// *Returns*:
/// - `READPAST_OK`: `*at` is open.
/// - `READPAST_INVALID_ARGUMENT`: there is no such place; the message names those that there are.
/// - the failure of the connection, when the place has been away since `readpast_queue_open`.
readpast_status readpast_queue_at(readpast_queue queue,
                                  const char *place,
                                  readpast_queue *at,
                                  readpast_error *err);

/// Makes a handle on the queue that enqueues and settles on `connection`, the caller's own ODBC connection (`SQLHDBC`) to the
/// same database, inside the transaction that is open there. The changes are committed or rolled back together with the caller's
/// other work. The library neither commits nor rolls back, closes nothing, and changes no setting of the connection.
///
/// On the handle, `readpast_queue_enqueue` and `readpast_queue_settle` work as on `queue`, with these differences. They are not
/// retried, since an error may have ended the transaction (on SQL Server it has). Without an open transaction they are refused
/// (turn autocommit off, `SQL_ATTR_AUTOCOMMIT`, or begin one). An `operation` is written in the transaction, and
/// `readpast_queue_is_done` reports later whether that has committed. They wake no waiter: call `readpast_queue_wake` after the
/// commit. Every other call that needs the server returns `READPAST_NOT_PROVIDED`.
///
/// An item that the caller has lost is an answer (`READPAST_LEASE_LOST`): roll back then.
///
/// *Ownership*: the connection stays the caller's, who keeps it open as long as calls are made on the handle. The caller frees
/// `*attached` with `readpast_queue_free`, before or after closing the connection, before or after freeing `queue`;
/// `readpast_queue_close` on it is a no-op.
///
/// *Threads*: calls on one connection wait for each other. Nothing else may use the connection meanwhile.
///
/// *Returns*:
/// - `READPAST_OK`: `*attached` is open.
/// - `READPAST_INVALID_ARGUMENT`: `connection` is NULL or is not open.
/// - `READPAST_NOT_PROVIDED`: the queue's procedures are written by hand, and have their own transactions.
readpast_status readpast_queue_attach(readpast_queue queue,
                                      void *connection,
                                      readpast_queue *attached,
                                      readpast_error *err);

/// Whether the call that was made with `operation` has committed. For a caller that has lost the answer to its own commit
/// (`readpast_queue_attach`, `Modify_<queue>_Set_utx`); for the library's own calls, repeat the call instead. It waits for
/// an operation that is under way.
///
/// *Returns*:
/// - `READPAST_OK`: it has.
/// - `READPAST_NOT_FOUND`: it was rolled back, was never made, or is more than an hour old: identities are deleted then.
/// - `READPAST_INVALID_ARGUMENT`: `operation` is not a UUID.
/// - `READPAST_NOT_PROVIDED`: the queue's procedures are written by hand.
/// - any other failure of the connection or the server.
readpast_status readpast_queue_is_done(readpast_queue queue,
                                       const char *operation,
                                       readpast_error *err);

/// Makes all waiting claims and workers of this process look at the queue at once: after items were enqueued without the
/// library, or in a transaction that has committed since. Sends nothing to the server; returns at once.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`.
readpast_status readpast_queue_wake(readpast_queue queue,
                                    readpast_error *err);

/// The name of the queue, as in its description.
///
/// *Ownership*: the text is the queue's, until that is freed.
///
/// *Returns*: text; NULL for a queue that is null or freed.
const char *readpast_queue_name(readpast_queue queue);

/// The worker's name, which holds the queue's leases: the setting `"worker"`, or a name that no other handle has.
///
/// *Ownership*: the text is the queue's, until that is freed.
///
/// *Returns*: text; NULL for a queue that is null or freed.
const char *readpast_queue_worker(readpast_queue queue);

/// How long a claim on this handle holds, in milliseconds: the setting `"lease.ms"`, or else the queue's description. The queue's
/// `leaseMs` in AppSettings overrides the description on the server, and is not asked for here.
///
/// *Returns*: the milliseconds; 0 for a queue that is null or freed.
int64_t readpast_queue_lease_ms(readpast_queue queue);

/// How many connections the queue has given up so far, because a call on them did not return: they fell silent without being
/// closed. Each keeps a thread and a socket of the process until its call returns; a process with 64 of them opens no more.
///
/// *Returns*: the count, of all handles of the queue together; 0 for a queue that is null or freed.
int64_t readpast_queue_given_up(readpast_queue queue);

/// Makes every present and future claim on this handle return `READPAST_INTERRUPTED` until `readpast_queue_resume`, also on
/// handles that `readpast_queue_share` made of it. It stays in force, so that a thread that claims a moment later does not miss
/// it. Statements that are at the server already go on. Settling and renewing work, so that work in flight can be finished;
/// `readpast_queue_settle_and_claim` then only settles. Returns at once.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`.
readpast_status readpast_queue_interrupt(readpast_queue queue,
                                         readpast_error *err);

/// Ends the interrupt of `readpast_queue_interrupt`: claims work again.
///
/// *Returns*:
/// - `READPAST_OK`.
readpast_status readpast_queue_resume(readpast_queue queue, readpast_error *err);

/// Closes the queue's connections: waits up to `timeout_ms` (0 to 86400000) for calls under way, and up to 2 seconds for
/// idle connections to close. From then on, every call that needs the server returns `READPAST_CLOSED`, and so do waiting
/// claims. Batches stay readable; leases of items that are not settled run out. The handle must still be freed.
///
/// In the child of a fork this is a no-op that returns `READPAST_OK`: the connections are the parent's.
///
/// *Returns*:
/// - `READPAST_OK`: it is closed, or was before.
/// - `READPAST_TIMED_OUT`: calls are still under way. New ones are refused nevertheless, and their connections close
///   when they end.
readpast_status readpast_queue_close(readpast_queue queue,
                                     int64_t timeout_ms,
                                     readpast_error *err);

/// Frees a queue, and closes it if no handle shared with it is left. Calls of other threads that are under
/// way on it end as usual, and the last of them closes the connections; `readpast_queue_close` first is the
/// orderly way. The null handle, and one that was freed already, are ignored.
void readpast_queue_free(readpast_queue queue);



/* ---- Enqueuing ---- */

/// An item to enqueue. Initialise it with `READPAST_NEW_ITEM_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The type of work, one of the queue's types. NULL: the first of them.
    const char *type;
    /// The step to begin with. NULL: none.
    const char *step;
    /// When it is due, in milliseconds from now on the server's clock. -1: at `due`.
    int64_t delay_ms;
    /// When it is due, a UTC time like `"2026-11-21T08:30:00Z"`. NULL: now, or after `delay_ms`.
    const char *due;
    /// The values of the queue's own columns, as a JSON object. NULL: each has its `default`, or NULL.
    const char *columns_json;
    /// The W3C `traceparent` under which it is enqueued, for a queue whose description has `trace`; others ignore it. A malformed
    /// one is left out without an error. A value of the column in `columns_json` overrides it. NULL: none.
    const char *traceparent;
    /// The `tracestate` that belongs to it. NULL: none.
    const char *tracestate;
    /// The items for which it waits, as a JSON array: texts are keys of items of the queue, numbers the places of earlier items of
    /// `items`, from 0 on, of its own thousand. It is due when all of them are over, and not before `due`. NULL or `"[]"`: none.
    /// Only in a queue whose description has `after`.
    const char *after_json;
    /// Its fate when one of them ends in another way than Completed: `"fail"`, it becomes Failed, and so do those that wait for it;
    /// `"run"`, the other counts as done; `"wait"`, it waits until the other is started again and completed. NULL: `"fail"`.
    const char *on_failed;
} readpast_new_item;
#define READPAST_NEW_ITEM_INIT {sizeof(readpast_new_item), NULL, NULL, -1, NULL, NULL, NULL, NULL, NULL, NULL}

/// The outcomes of the items of one `readpast_queue_enqueue`, in the order of the items. Immutable; any number of threads may
/// read it. It does not need its queue.
///
/// Made by `readpast_queue_enqueue`, freed by `readpast_receipts_free`. The texts it lends live as long as it.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_receipts;

/// The outcome of an item to enqueue. Initialise it with `READPAST_RECEIPT_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The item's key. For a duplicate, the key of the existing item if the queue returns it, otherwise empty.
    const char *key;
    /// The item's token, to cancel or pause exactly this version of it. Empty for a duplicate, unless the item that
    /// waits got the values of this one (`on_duplicate` in the description).
    const char *token;
    /// `READPAST_OK`, or `READPAST_DUPLICATE` when nothing was enqueued.
    readpast_status answer;
    /// 0.
    int32_t reserved;
} readpast_receipt;
#define READPAST_RECEIPT_INIT {sizeof(readpast_receipt), NULL, NULL, 0, 0}

/// Enqueues `count` (0 to 1000000) items, 1000 in a commit. Up to 1000 are enqueued all together, or on a failure not at all.
/// With more, the thousands before a failure are enqueued, and the error has the operation with which to repeat the call. All
/// items are checked before the first is sent. In a queue with `dedup`, only duplicates are left out. With no items, nothing is
/// sent.
///
/// `operation` makes the call repeatable: a repetition with the same UUID and items enqueues nothing more and returns the
/// same answers; with the UUID of a call of another queue or kind it is refused. NULL: the library chooses one for its own
/// retries. The identity of each thousand is derived from it.
///
/// If you give one, keep it until a call with it succeeds: a repetition that fails, with any status, leaves the outcome of
/// the first call open.
///
/// `receipts` may be NULL; otherwise it gets the outcome of each item.
///
/// *Ownership*: what `items` points to is copied. The caller frees `*receipts` with `readpast_receipts_free`.
///
/// *Returns*:
/// - `READPAST_OK`: all are enqueued; `*receipts` has a receipt for each, and is null when there are none.
/// - `READPAST_DUPLICATE`: as above, except at least one duplicate; its receipt says so.
/// - `READPAST_INVALID_ITEM`: an item does not fit the queue; the message names it and the column.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - any other failure of the connection or the server.
readpast_status readpast_queue_enqueue(readpast_queue queue,
                                       const readpast_new_item *items,
                                       int32_t count,
                                       const char *operation,
                                       readpast_receipts *receipts,
                                       readpast_error *err);

/// How many receipts there are: as many as there were items.
///
/// *Returns*: the number; 0 for receipts that are null or freed.
int32_t readpast_receipts_count(readpast_receipts receipts);

/// The receipt of the item at `index`, counted from 0.
///
/// *Ownership*: the texts are the receipts', until those are freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*receipt` is written.
/// - `READPAST_NOT_FOUND`: there is no such receipt; `*receipt` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `receipt` is NULL or not initialised.
readpast_status readpast_receipts_get(readpast_receipts receipts,
                                      int32_t index,
                                      readpast_receipt *receipt,
                                      readpast_error *err);

/// Frees receipts, and what they lent. The null handle, and one that was freed already, are ignored.
void readpast_receipts_free(readpast_receipts receipts);



/* ---- Claiming, and what a claim gives ---- */

/// True or false: `integer` is 1 or 0.
#define READPAST_TYPE_BOOLEAN 1

/// A whole number of up to 64 bits: `integer`.
#define READPAST_TYPE_INTEGER 2

/// A binary floating point number: `number`.
#define READPAST_TYPE_FLOAT 3

/// An exact decimal number: `text`, like `-12.50`.
#define READPAST_TYPE_DECIMAL 4

/// Text: `text`.
#define READPAST_TYPE_TEXT 5

/// Bytes: `bytes`.
#define READPAST_TYPE_BINARY 6

/// A date and time in UTC: `text`, like `2026-11-21T08:30:00.1234567`. PostgreSQL also has times that are infinite, after the
/// year 9999 or before 1: `text` as it writes them, like `infinity` or `12026-01-01 00:00:00+00`.
#define READPAST_TYPE_TIMESTAMP 7

/// A date: `text`, like `2026-11-21`, or as PostgreSQL writes one that is infinite or of such a year.
#define READPAST_TYPE_DATE 8

/// A GUID: `text`.
#define READPAST_TYPE_GUID 9

/// A JSON document: `text`, as it is stored. Other code may have written something that is not JSON: SQL Server keeps it as
/// text.
#define READPAST_TYPE_JSON 10

/// The items of one claim, in the order they were due. Immutable; any number of threads may read it. It does not need its queue,
/// which may be closed or freed.
///
/// Made by the calls that claim, freed by `readpast_batch_free`. Texts that it lends live as long as it.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_batch;

/// A claimed item. The texts from `type` on are those of columns of its life cycle, whatever the server or the table calls these.
/// Initialise it with `READPAST_ITEM_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The primary key, as text.
    const char *key;
    /// The token that the claim left on the item. A settle must carry it.
    const char *token;
    /// Which attempt this is, counted from 1. A settle must carry it.
    int32_t attempt;
    /// How many columns it has.
    int32_t column_count;
    /// The state it was in when it was read: a `READPAST_STATE_`.
    int32_t state;
    /// 0.
    int32_t reserved;
    /// Its type; NULL where a described table has none.
    const char *type;
    /// The step that was recorded last; NULL where none was.
    const char *step;
    /// The time, in UTC, before which it is not claimed; NULL where there is none. The times are texts like those of
    /// `READPAST_TYPE_TIMESTAMP`.
    const char *due;
    /// The time, in UTC, at which it was enqueued; NULL where a described table has no such column.
    const char *enqueued;
    /// The end, in UTC, that its lease had when it was read, which renewals move on; NULL where nobody held it.
    const char *lease_until;
} readpast_item;
#define READPAST_ITEM_INIT {sizeof(readpast_item), NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL}

/// A column of the items. Initialise it with `READPAST_COLUMN_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// Its name, as the worker view declares it.
    const char *name;
    /// Its type: a `READPAST_TYPE_`.
    int32_t type;
    /// 0.
    int32_t reserved;
} readpast_column;
#define READPAST_COLUMN_INIT {sizeof(readpast_column), NULL, 0, 0}

/// The value of one column of one item. The field that holds it follows from the type; the others are 0 and NULL, and so are all
/// when the value is NULL. Initialise it with `READPAST_VALUE_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The type of the column: a `READPAST_TYPE_`.
    int32_t type;
    /// Whether the value is NULL: 1 or 0.
    int32_t is_null;
    /// A whole number, or 1 for true and 0 for false.
    int64_t integer;
    /// A floating point number.
    double number;
    /// Text, or a value that is given as text, with a NUL after it.
    const char *text;
    /// Bytes.
    const uint8_t *bytes;
    /// How many bytes `text` (without the NUL) or `bytes` has.
    size_t length;
} readpast_value;
#define READPAST_VALUE_INIT {sizeof(readpast_value), 0, 0, 0, 0, NULL, NULL, 0}

/// Claims up to `max_items` (1 to 1000) due items, in the order they were due. Each is this worker's until its lease runs
/// out, on the server's clock; settle it or renew its lease before that.
///
/// If none is due, the call waits up to `wait_ms` (0 to 86400000) for the first.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`; the items stay claimed.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item.
/// - `READPAST_EMPTY`: none became due in time; `*batch` is null.
/// - `READPAST_INTERRUPTED`: `readpast_queue_interrupt` was called, before or during the call; `*batch` is null.
/// - `READPAST_CLOSED`: the queue was closed, perhaps during the wait.
/// - any failure of the connection or the server.
readpast_status readpast_queue_claim(readpast_queue queue,
                                     int32_t max_items,
                                     int64_t wait_ms,
                                     readpast_batch *batch,
                                     readpast_error *err);

/// Waits up to `wait_ms` (0 to 86400000) until an item has ended, and returns it as it is then: its state, its response and its error.
/// For a producer that needs the result of its work.
///
/// The threads of a process that wait for items of one queue share one question to the server. It comes within 20 ms of a
/// settlement of this process, otherwise 20 ms after the first, then ever later, up to `poll.interval_ms`. On PostgreSQL the
/// doorbell reports a settlement of another process at once. No connection is held in between.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds the item.
/// - `READPAST_EMPTY`: it has not ended in time; `*batch` is null.
/// - `READPAST_NOT_FOUND`: it is not there; a queue with `completion` deletes an item, or moves it to the history, as it ends.
/// - `READPAST_INVALID_ITEM`: `key` is no key of the queue.
/// - `READPAST_INTERRUPTED`: `readpast_queue_interrupt` was called, before or during the call.
/// - `READPAST_CLOSED`: the queue was closed, perhaps during the wait.
/// - any failure of the connection or the server.
readpast_status readpast_queue_wait_for(readpast_queue queue,
                                        const char *key,
                                        int64_t wait_ms,
                                        readpast_batch *batch,
                                        readpast_error *err);

/// How many items there are.
///
/// *Returns*: the number, from 1 to 1000; 0 for a batch that is null or freed.
int32_t readpast_batch_count(readpast_batch batch);

/// The item at `index`, counted from 0.
///
/// *Ownership*: the texts are the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*item` is written.
/// - `READPAST_NOT_FOUND`: there is no such item; `*item` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `item` is NULL or not initialised.
readpast_status readpast_batch_item(readpast_batch batch, int32_t index, readpast_item *item, readpast_error *err);

/// The item at `index` as one JSON object on one line, a member per column. Times are text in UTC, decimals are text with
/// all their digits, bytes are base64. A JSON document is embedded as it is stored, digit by digit; a value of such a column
/// that is not JSON, or is nested deeper than 60 levels, is text. Made at the first call, then kept.
///
/// *Ownership*: the text is the batch's, until that is freed.
///
/// *Returns*: text; NULL when there is no such item, or no memory for it: its columns can be read all the same.
const char *readpast_batch_json(readpast_batch batch,
                                int32_t index);

/// Frees a batch, and what it lent. Its items stay claimed. The null handle, and one that was freed already, are
/// ignored.
void readpast_batch_free(readpast_batch batch);

/// How many columns the items have.
///
/// *Returns*: the number; 0 for a batch that is null or freed.
int32_t readpast_batch_column_count(readpast_batch batch);

/// The column at `index`, counted from 0. All items of a batch have the same columns.
///
/// *Ownership*: the name is the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*column` is written.
/// - `READPAST_NOT_FOUND`: there is no such column; `*column` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `column` is NULL or not initialised.
readpast_status readpast_batch_column(readpast_batch batch,
                                      int32_t index,
                                      readpast_column *column,
                                      readpast_error *err);

/// The value of the item at `index`, in the column at `column`, both counted from 0.
///
/// *Ownership*: text and bytes are the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*value` is written.
/// - `READPAST_NOT_FOUND`: there is no such item or column; `*value` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `value` is NULL or not initialised.
readpast_status readpast_batch_value(readpast_batch batch,
                                     int32_t index,
                                     int32_t column,
                                     readpast_value *value,
                                     readpast_error *err);

/// The value of the item at `index`, counted from 0, in the column called `name`; if there is none, in the only column whose
/// name differs only in the case of letters. A column of the life cycle is found by its name on the other server and in other
/// tables too: `ScheduledFor`, `scheduled_for` and `ItemDueAt` are one.
///
/// *Ownership*: text and bytes are the batch's, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*value` is written.
/// - `READPAST_NOT_FOUND`: there is no such item or column; `*value` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `name` is NULL or not UTF-8, or `value` is NULL or not initialised.
readpast_status readpast_batch_value_by_name(readpast_batch batch,
                                             int32_t index,
                                             const char *name,
                                             readpast_value *value,
                                             readpast_error *err);

/// Makes items without a queue, to test a handler without a database. Nothing is sent anywhere; every queue refuses a
/// settlement made from such an item.
///
/// `items_json` is an array of up to 1000 objects like `{"columns": {"Recipient": "a@example.org"}}`. Each may also have
/// `key`, `token`, `attempt` (by default 1), `state` (by default `"Processing"`), and `type`, `step`, `due`, `enqueued` and
/// `lease_until`, which become columns like `ScheduledFor`. With `spec`, a queue's description as
/// for `readpast_install`, the items have its columns and types; with NULL, the columns follow from the values. Text in a
/// JSON column is taken as it is.
///
/// *Ownership*: the texts are copied. The caller frees `*batch` with `readpast_batch_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item.
/// - `READPAST_EMPTY`: the array is empty; `*batch` is null.
/// - `READPAST_INVALID_ITEM`: an item cannot be made; the message names it and the column.
/// - `READPAST_INVALID_ARGUMENT`: the description has a mistake; the message says where.
readpast_status readpast_batch_from_json(const char *items_json,
                                         const char *spec,
                                         readpast_batch *batch,
                                         readpast_error *err);

/// Whether trace context travels with the items of a queue: whether its description has `trace`. Ask before you make spans, so
/// that other queues cost nothing.
///
/// *Returns*: 1, or 0; 0 for a queue that is null or freed.
int32_t readpast_queue_is_traced(readpast_queue queue);

/// The W3C `traceparent` under which the item at `index` was enqueued: the parent of the span around its handler.
///
/// *Ownership*: the text is the batch's, until that is freed.
///
/// *Returns*: text; NULL when there is no such item, when it has none or a malformed one, and when its queue's description has
/// no `trace`.
const char *readpast_batch_traceparent(readpast_batch batch,
                                       int32_t index);

/// The `tracestate` that belongs to the `traceparent` of the item at `index`.
///
/// *Ownership*: the text is the batch's, until that is freed.
///
/// *Returns*: text; NULL when there is none.
const char *readpast_batch_tracestate(readpast_batch batch, int32_t index);



/* ---- Settling ---- */

/// Completes it.
#define READPAST_ACTION_COMPLETE 1

/// Completes it partially: done as far as it could be.
#define READPAST_ACTION_COMPLETE_PARTIALLY 2

/// Fails it for good.
#define READPAST_ACTION_FAIL 3

/// Tries it again when due, since this attempt failed. The item becomes Failed when its attempts are spent.
#define READPAST_ACTION_RETRY 4

/// Releases it unworked: it is Pending again, and this attempt does not count. From a worker's handler it is due after
/// `poll.interval_ms` at the earliest.
#define READPAST_ACTION_RELEASE 5

/// Cancels it.
#define READPAST_ACTION_CANCEL 6

/// Pauses it until it is resumed.
#define READPAST_ACTION_PAUSE 7

/// Makes a paused item, or one that waits for its next attempt, Pending again.
#define READPAST_ACTION_RESUME 8

/// Stops it for good; a worker that holds it loses its lease.
#define READPAST_ACTION_TERMINATE 9

/// Records progress and keeps the claim; the lease starts anew.
#define READPAST_ACTION_STEP 10

/// The item was not found, so it has no state.
#define READPAST_STATE_NONE 0

/// Waits for a worker.
#define READPAST_STATE_PENDING 1

/// A worker holds its lease.
#define READPAST_STATE_PROCESSING 2

/// An attempt failed; it will be tried again when it is due.
#define READPAST_STATE_ERROR 3

/// Attempts are spent, or the item's action was to fail. Final.
#define READPAST_STATE_FAILED 4

/// Done. Final.
#define READPAST_STATE_COMPLETED 5

/// Cancelled before it was done. Final.
#define READPAST_STATE_CANCELLED 6

/// Paused until an operator resumes it.
#define READPAST_STATE_PAUSED 7

/// Stopped by an operator. Final.
#define READPAST_STATE_TERMINATED 8

/// Done as far as it could be. Final.
#define READPAST_STATE_PARTIALLY_COMPLETED 9

/// A settlement of an item. Initialise it with `READPAST_SETTLEMENT_INIT`.
///
/// A text with a length has that many bytes. Without a length, it ends at its first NUL.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The item's key.
    const char *key;
    /// The token that the item had when the caller last saw it. Required with an attempt; without one, NULL accepts any.
    const char *token;
    /// The attempt of the claim. 0 changes the item as an operator, without holding its lease.
    int32_t attempt;
    /// The action: a `READPAST_ACTION_`.
    int32_t action;
    /// The step to record. NULL keeps the present one.
    const char *step;
    /// The response to record. NULL keeps the present one.
    const char *response;
    /// The error to record. NULL keeps the present one.
    const char *error;
    /// When the item is due again, in milliseconds from now on the server's clock. -1: at `due`.
    int64_t delay_ms;
    /// When the item is due again, a UTC time like `"2026-11-21T08:30:00Z"`. NULL: unchanged, or after `delay_ms`.
    const char *due;
    /// The length of `step` in bytes. 0: it ends at its NUL.
    size_t step_length;
    /// The same of `response`.
    size_t response_length;
    /// The same of `error`.
    size_t error_length;
    /// The same of `due`.
    size_t due_length;
    /// Values for the item's own columns, written in the same commit: a JSON object like `columns_json` of a new item, with a
    /// nested object for each subtype. A column that is left out keeps its value. NULL: none.
    const char *set_json;
    /// The length of `set_json` in bytes. 0: it ends in NUL.
    size_t set_json_length;
    /// Items that follow, put in with the same commit where the answer is `READPAST_OK`: a JSON array of up to 1000 objects, each with
    /// `columns` like `columns_json` of a new item and, where wanted, `queue` (another of the schema), `type`, `step`, `due` or
    /// `delay_ms`. A repetition of the call adds nothing. NULL: none.
    const char *then_json;
    /// The length of `then_json` in bytes. 0: it ends in NUL.
    size_t then_json_length;
} readpast_settlement;
#define READPAST_SETTLEMENT_INIT {sizeof(readpast_settlement), NULL, NULL, 0, 0, NULL, NULL, NULL, -1, NULL, 0, 0, 0, 0, NULL, 0, NULL, 0}

/// The outcome for an item, and its state then; a settle that is repeated with its operation returns the first outcome, whatever
/// has become of the item since. Initialise the first of an array with `READPAST_OUTCOME_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// `READPAST_OK`, `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND` or,
    /// when redriven work is in the queue again, `READPAST_DUPLICATE`.
    readpast_status answer;
    /// The item's state then: a `READPAST_STATE_`. It can be Failed although another was asked for and the answer is
    /// `READPAST_OK`: then its attempts are spent.
    int32_t state;
    /// The item's attempt number.
    int32_t attempt;
    /// 0.
    int32_t reserved;
    /// The item's token then, to go on with after a step. Empty when the item was not found, or has another holder since. It is a
    /// time (at most 35 bytes), a number or a GUID; opening a queue refuses hand-written procedures with a longer text for a
    /// token.
    char token[40];
} readpast_outcome;
#define READPAST_OUTCOME_INIT {sizeof(readpast_outcome), 0, 0, 0, 0, {0}}

/// Ends the claims of `count` (0 to 1000000) items, or records progress, 1000 in a commit. Each item has its own answer: a lost
/// item does not affect the others. With no items, nothing is sent. When a call of more than 1000 fails, the thousands before the
/// failure are settled, and the error has the operation with which to repeat the call.
///
/// `operation` makes the call repeatable: a repetition with the same UUID and settlements changes nothing more and returns the
/// same answers; with the UUID of a call of another queue or kind it is refused. NULL: the library chooses one for its own
/// retries, so that a settlement is applied once even if the connection breaks.
///
/// If you give one, keep it until a call with it succeeds: a repetition that fails, with any status, leaves the outcome of the
/// first call open.
///
/// `outcomes` may be NULL; otherwise there are `count` of them.
///
/// *Returns*:
/// - `READPAST_OK`: all are settled; `outcomes` are written.
/// - `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND`: the answer for the first
///   item that is not; `outcomes` are written for all.
/// - `READPAST_INVALID_ITEM`: a value of a settlement does not fit the queue; the message names item and column. None is settled.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - any other failure of the connection or the server.
readpast_status readpast_queue_settle(readpast_queue queue,
                                      const readpast_settlement *settlements,
                                      int32_t count,
                                      const char *operation,
                                      readpast_outcome *outcomes,
                                      readpast_error *err);

/// Settles as `readpast_queue_settle` does and, in the same round trip and commit (of more than 1000, that of the last), claims
/// up to `max_items` (1 to 1000) items as `readpast_queue_claim` does without waiting. A repetition with the same `operation`
/// claims nothing more: its batch has the items of the first call, as far as this worker still holds them. Where items follow a
/// settlement (`then_json`), the claim is a call of its own after it, and a repetition claims others.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`. The texts of `settlements` are copied.
///
/// *Returns*: as `readpast_queue_settle`: the status is that of the settlements, whatever was claimed. At 0 and above, `*batch`
/// holds the claimed items; it is null when nothing was due, and in all other cases.
readpast_status readpast_queue_settle_and_claim(readpast_queue queue,
                                                const readpast_settlement *settlements,
                                                int32_t count,
                                                const char *operation,
                                                int32_t max_items,
                                                readpast_outcome *outcomes,
                                                readpast_batch *batch,
                                                readpast_error *err);



/* ---- Leases of items that were claimed by hand ---- */

/// A lease to renew. Initialise it with `READPAST_LEASE_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The item's key.
    const char *key;
    /// The attempt of the claim.
    int32_t attempt;
    /// Must be 0.
    int32_t reserved;
} readpast_lease;
#define READPAST_LEASE_INIT {sizeof(readpast_lease), NULL, 0, 0}

/// Renews the leases of a batch while its items are worked on, for programs that claim and settle by themselves; a
/// `readpast_worker` needs none. One thread per queue does it for all renewals; it takes no signals. Any number of threads may
/// use the handle.
///
/// Made by `readpast_renewal_start`, freed by `readpast_renewal_free`.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_renewal;

/// Renews the leases of `count` (0 to 1000000) items: they start anew, on the server's clock. Nothing else about the items
/// changes, not even their tokens. `readpast_renewal_start` does this on a thread of its own.
///
/// `outcomes` may be NULL; otherwise there are `count` of them.
///
/// *Returns*:
/// - `READPAST_OK`: all are renewed; `outcomes` are written.
/// - `READPAST_LEASE_LOST`, `READPAST_NOT_FOUND`: the answer of the first item that is not; `outcomes` are written for all.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an argument cannot be taken; the message names it.
/// - any other failure of the connection or the server.
readpast_status readpast_queue_renew(readpast_queue queue,
                                     const readpast_lease *leases,
                                     int32_t count,
                                     readpast_outcome *outcomes,
                                     readpast_error *err);

/// Starts renewing the leases of all items of `batch`, every `interval_ms` (1 to 86400000), or more often: no later than after
/// a third of the lease that they were claimed with. Release each item when it is settled.
///
/// *Ownership*: the caller frees `*renewal` with `readpast_renewal_free`. `queue` and `batch` may be freed before it.
///
/// *Returns*:
/// - `READPAST_OK`: `*renewal` runs.
/// - `READPAST_CLOSED`: the queue was closed.
/// - `READPAST_INVALID_HANDLE`: there is no such queue or batch.
/// - `READPAST_INVALID_ARGUMENT`: the interval is out of its range.
readpast_status readpast_renewal_start(readpast_queue queue,
                                       readpast_batch batch,
                                       int64_t interval_ms,
                                       readpast_renewal *renewal,
                                       readpast_error *err);

/// Stops renewing the lease of the item with `key`. Call it when the item is settled; otherwise its lease would be renewed in
/// vain and then count as lost.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_NOT_FOUND`: the item's lease is not renewed, or no longer: it was released or lost before.
/// - `READPAST_INVALID_ARGUMENT`: the key is NULL or not UTF-8.
readpast_status readpast_renewal_release(readpast_renewal renewal,
                                         const char *key,
                                         readpast_error *err);

/// How many items were lost so far: their leases ran out, or an operator took them. Further work on them is in vain.
///
/// *Returns*: the number, which only grows; 0 for a renewal that is null or freed.
int32_t readpast_renewal_lost_count(readpast_renewal renewal);

/// The key of the lost item at `index`, counted from 0. An item stays at its index.
///
/// *Ownership*: the text is the renewal's, until that is freed.
///
/// *Returns*: text; NULL when there is no such item.
const char *readpast_renewal_lost_key(readpast_renewal renewal, int32_t index);

/// Stops a renewal and frees it; waits at most two seconds for a round under way. Leases stay as they are. The
/// null handle, and one that was freed already, are ignored.
void readpast_renewal_free(readpast_renewal renewal);



/* ---- A worker: claims, leases, settles and stops by itself ---- */

/// An item was settled: handled, or released.
#define READPAST_EVENT_SETTLED 1

/// The worker has lost an item, before or while it was worked on, or when it was settled.
#define READPAST_EVENT_LOST 2

/// The library or the database refused a part of an item's result. The part is left out, and the item's error says so.
#define READPAST_EVENT_REFUSED 3

/// A call failed with a transient error, and will be repeated.
#define READPAST_EVENT_TROUBLE 4

/// A constraint or a trigger of an item's table refused its claim, or its recovery. The queue sets it aside for a while, and
/// tries again.
#define READPAST_EVENT_SET_ASIDE 5

/// An item was given back, without spending its attempt, although its handler had not ended: the worker was abandoned.
/// READPAST_EVENT_SETTLED follows when the database knows.
#define READPAST_EVENT_ABANDONED 6

/// The least room of `readpast_log_text`, in bytes.
#define READPAST_LOG_TEXT_ROOM 2200

/// Options of a worker, besides its queue's settings. Initialise it with `READPAST_WORKER_OPTIONS_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// 1: the worker stops by itself when nothing is due or in flight. 0: it works until it is stopped.
    int32_t until_empty;
    /// How many unread events are kept for `readpast_worker_events`, up to 1000000. 0: none.
    int32_t events;
} readpast_worker_options;
#define READPAST_WORKER_OPTIONS_INIT {sizeof(readpast_worker_options), 0, 0}

/// A worker: threads of the library claim ahead, settle in groups and renew leases, while the caller takes items, begins each,
/// and ends it. Any number of the caller's threads may do so at once; there are no callbacks.
///
/// One worker serves as many handlers as the program has; the settings `worker.fetchers`, `worker.ahead` and `worker.hold_ms`
/// control it. `docs/worker.md` describes its answer to each failure. Items that had ended but were not settled when the process
/// died are handed out again.
///
/// Made by `readpast_worker_start`, freed by `readpast_worker_free`.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_worker;

/// Figures of a worker since it was started. Initialise it with `READPAST_WORKER_FIGURES_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// Items in flight that have not begun.
    int64_t ready;
    /// Items that have begun and not ended. Without `readpast_worker_begin` an item begins when it is taken.
    int64_t begun;
    /// Items that have ended and are not settled yet.
    int64_t ended;
    /// Items claimed so far.
    int64_t claimed;
    /// Items settled so far, with the action that was asked for.
    int64_t settled;
    /// Items released so far, without spending an attempt.
    int64_t released;
    /// Items lost so far.
    int64_t lost;
    /// Items for which the library or the database refused a part of the result.
    int64_t refused;
    /// Calls answered so far that settled or claimed.
    int64_t calls;
    /// Calls that failed with a transient error.
    int64_t troubles;
    /// The median of how long the answered calls took, in microseconds, to within a factor of 1.5.
    int64_t call_us_p50;
    /// The same of the 99th percentile.
    int64_t call_us_p99;
} readpast_worker_figures;
#define READPAST_WORKER_FIGURES_INIT {sizeof(readpast_worker_figures), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/// Some events of a worker, oldest first. Immutable; any number of threads may read it.
///
/// Made by `readpast_worker_events`, freed by `readpast_events_free`. Texts that it lends live as long as it.
typedef struct {
    /// Not an address; 0 is the null handle.
    uint64_t id;
} readpast_events;

/// An event. Initialise it with `READPAST_EVENT_INIT`.
typedef struct {
    /// The size of this struct.
    size_t struct_size;
    /// The kind of event: a `READPAST_EVENT_`.
    int32_t kind;
    /// For SETTLED and LOST: the database's answer, `READPAST_OK` if all is well, `READPAST_LEASE_LOST` if a renewal found the
    /// loss. For REFUSED and TROUBLE: the status of the failed call, below 0. For SET_ASIDE: `READPAST_INVALID_ITEM`. For ABANDONED:
    /// `READPAST_OK`.
    readpast_status answer;
    /// The item's key; NULL for TROUBLE, and for SET_ASIDE of an item of a type that this login may not see.
    const char *key;
    /// The attempt of the claim; 0 for TROUBLE and SET_ASIDE.
    int32_t attempt;
    /// For SETTLED: the item's state now, a `READPAST_STATE_`; for LOST, if it is known. Otherwise 0.
    int32_t state;
    /// The action of the settlement, a `READPAST_ACTION_`; 0 for TROUBLE and SET_ASIDE, and for LOST before the item ended.
    int32_t action;
    /// Why; NULL for SETTLED, LOST and ABANDONED.
    const char *message;
    /// The parts of the item's result that were left out, by name and length, like `response of 31 characters, delay`. For
    /// REFUSED, and for LOST, which leaves out everything; otherwise NULL.
    const char *left_out;
    /// A line for a log with all of this, without any text of the item; NULL for SETTLED.
    const char *line;
} readpast_event;
#define READPAST_EVENT_INIT {sizeof(readpast_event), 0, 0, NULL, 0, 0, 0, NULL, NULL, NULL}

/// Starts a worker on `queue`. `options` may be NULL.
///
/// It has a handle of its own on the queue, like one from `readpast_queue_share`: interrupting `queue` stops it, and closing
/// the queue ends it.
///
/// *Ownership*: the caller frees `*worker` with `readpast_worker_free`. `queue` may be freed before it.
///
/// *Returns*:
/// - `READPAST_OK`: `*worker` works.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: an option cannot be taken; the message names it.
/// - `READPAST_UNAVAILABLE`: the system has no thread left.
readpast_status readpast_worker_start(readpast_queue queue,
                                      const readpast_worker_options *options,
                                      readpast_worker *worker,
                                      readpast_error *err);

/// Takes up to `max_items` (1 to 1000) due items, waiting up to `wait_ms` (0 to 86400000) for the first. They are claimed, and
/// their leases are renewed until they are ended, however long that takes. Items that were claimed ahead are handed out at once.
/// A batch has items of one claim only, so it may have fewer than `max_items` although more are due.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`, before or after the items are ended.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item. Begin each of them, and end it.
/// - `READPAST_EMPTY`: none came in time; `*batch` is null.
/// - `READPAST_INTERRUPTED`: the worker was stopped; no more items follow. `*batch` is null.
/// - any failure that made the worker stop: it is not transient.
readpast_status readpast_worker_take(readpast_worker worker,
                                     int32_t max_items,
                                     int64_t wait_ms,
                                     readpast_batch *batch,
                                     readpast_error *err);

/// Waits for up to `max_items` (0 to 1000) items without a thread, for a program with an event loop: `*descriptor` is always the
/// same, and can be read from (`poll`, `epoll`, `kqueue`, libuv's `uv_poll_t`, Boost.Asio's `posix::stream_descriptor`) once there is
/// something to do. Then call `readpast_worker_take` with a `wait_ms` of 0 until it returns `READPAST_EMPTY` or there is no room left,
/// ask `readpast_worker_is_lost` for each item that is worked on, and call this again with the number of items that there is room for
/// by now, which empties the descriptor: the program neither reads nor closes it. With 0 it shows losses and the stop alone. After a
/// stop it can always be read from.
///
/// *Ownership*: the descriptor is the worker's, and is closed when the worker is freed; take it out of the loop before.
///
/// *Threads*: one event loop for a worker.
///
/// *Returns*:
/// - `READPAST_OK`: `*descriptor` is to be polled.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_UNAVAILABLE`: the system has no descriptor left.
/// - `READPAST_UNSUPPORTED`: on Windows, where event loops poll no descriptors.
readpast_status readpast_worker_want(readpast_worker worker,
                                     int32_t max_items,
                                     int32_t *descriptor,
                                     readpast_error *err);

/// Begins an item that was taken: call it when the item's turn has come, before any work on it. An item that does not begin is no
/// longer in flight: do not work on it, and do not end it.
///
/// It may have been lost while the items before it were worked on. Or the worker is stopping: then it releases, without spending
/// an attempt, this item and those of its batch that have not begun. Once an item of a batch has begun, `readpast_worker_stop`
/// releases at once those that have not.
///
/// A program may leave this out: an item then begins when it is taken. Do either for all items of a batch. The process's metrics
/// measure from the begin how long an item waited and how long it was worked on.
///
/// *Threads*: of several calls for one item one returns `READPAST_OK`.
///
/// *Returns*:
/// - `READPAST_OK`: work on the item, and end it.
/// - `READPAST_LEASE_LOST`: the item was lost, or is not there to begin: it began before, has ended, or was released.
/// - `READPAST_INTERRUPTED`: the worker is stopping; the item was released.
/// - `READPAST_INVALID_ARGUMENT`: the key or the attempt cannot be taken; the message names it.
readpast_status readpast_worker_begin(readpast_worker worker,
                                      const char *key,
                                      int32_t attempt,
                                      readpast_error *err);

/// Releases the items of a taken batch that have not begun, without spending an attempt: for a thread that will work on none of
/// them, because it fails or ends. Items that have begun or ended, and those that were released or lost, stay as they are; so
/// calling it again, or for each batch that is done, does no harm. While the worker goes on, the items are due again after
/// `poll.interval_ms`; when it is stopping, at once.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_INVALID_HANDLE`: there is no such worker or batch.
readpast_status readpast_worker_give_back(readpast_worker worker,
                                          readpast_batch batch,
                                          readpast_error *err);

/// Ends `count` (1 to 1000) items that were taken, each with its settlement, whose token may be NULL. Returns at once: the worker
/// settles them, together with others that have ended, in its next call. `readpast_worker_events` reports the outcome. To record
/// a step and keep the item, see `readpast_worker_step`.
///
/// Completed work is not repeated. Invalid text, a time out of range, values that the columns do not take, and values that the
/// database cannot store are left out, and the item's error says so. In an error's own text, U+FFFD replaces bytes that are not
/// UTF-8. An action that does not end an item makes it Failed. READPAST_EVENT_REFUSED reports all these.
///
/// *Returns*:
/// - `READPAST_OK`: all have ended.
/// - `READPAST_NOT_FOUND`: at least one is not in flight: it ended before, or was never taken. The others have ended.
/// - `READPAST_INVALID_ARGUMENT`, `READPAST_UNSUPPORTED`: a key, an attempt, or the array itself cannot be taken; the message
///   names it. None has ended.
readpast_status readpast_worker_end(readpast_worker worker,
                                    const readpast_settlement *settlements,
                                    int32_t count,
                                    readpast_error *err);

/// Records a step, of at most 60 characters, of an item that was taken, so that another attempt can resume there. The claim is
/// kept, and its lease starts anew. Waits until the database has the step.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_LEASE_LOST`, `READPAST_CONFLICT`, `READPAST_ILLEGAL_TRANSITION`, `READPAST_NOT_FOUND`: the worker has lost the
///   item; work on it is in vain.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - any failure that is not transient.
readpast_status readpast_worker_step(readpast_worker worker,
                                     const char *key,
                                     int32_t attempt,
                                     const char *step,
                                     readpast_error *err);

/// Reports how far a taken item is, for operators to see while the handler runs: `percent` from 0 to 100, `text`, a line, or both,
/// each in place of the one before. Returns at once: a thread of the library writes the newest report of each item, those of all items
/// of the worker by one call, at most one in a second. It never fails because of the database, and a report may be lost: when the item
/// ends right after it, say.
///
/// A `percent` above 100 counts as 100, one below 0 as none. `text` may be NULL; it is cut after 200 characters (units of UTF-16, never
/// within a character). The report of an item that is not in flight, or is lost, has no effect.
///
/// *Returns*:
/// - `READPAST_OK`.
/// - `READPAST_UNSUPPORTED`: the queue's description has no `progress`.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_UNAVAILABLE`: the system has no thread left.
readpast_status readpast_worker_progress(readpast_worker worker,
                                         const char *key,
                                         int32_t attempt,
                                         int32_t percent,
                                         const char *text,
                                         readpast_error *err);

/// Whether a taken item is lost: its lease ran out, an operator took it, or the worker was abandoned or given up. Further work on
/// it is then in vain. An item that was worked on for longer than `worker.max_run_ms` counts as lost too, and its result counts if it
/// comes before the lease runs out.
///
/// *Returns*: 1 if it is, or is not in flight; 0 if not; 1 for a worker that is null or freed, or a key that is NULL.
int32_t readpast_worker_is_lost(readpast_worker worker,
                                const char *key,
                                int32_t attempt);

/// Waits up to `wait_ms` (0 to 86400000) for a change that running handlers must know of: an item in flight was lost, or the
/// worker is to stop, or has failed. Changes are counted: `seen` is how many the caller knows of, 0 at first, and `*changes`
/// how many there are. Then ask `readpast_worker_is_lost` for each item that is worked on, and `readpast_worker_is_stopping`.
/// One waiting thread is enough for all handlers; the count makes sure that it misses none.
///
/// *Threads*: any number may wait, each with its own count.
///
/// *Returns*:
/// - `READPAST_OK`: there are more than `seen`; `*changes` is how many.
/// - `READPAST_EMPTY`: there were no more in time; `*changes` is not written.
/// - `READPAST_INTERRUPTED`: there will be no more: the worker was closed or freed. `*changes` is not written.
readpast_status readpast_worker_changes(readpast_worker worker,
                                        int64_t seen,
                                        int64_t wait_ms,
                                        int64_t *changes,
                                        readpast_error *err);

/// Renews the leases of all items in flight now, without waiting for a third of their time. Returns at once.
///
/// *Returns*:
/// - `READPAST_OK`.
readpast_status readpast_worker_renew(readpast_worker worker, readpast_error *err);

/// Stops a worker: it hands out no more items, releases those that have not begun, without spending an attempt (see
/// `readpast_worker_begin`), and settles those that end. Returns at once; `readpast_worker_close` waits.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`, also when it was stopped before.
readpast_status readpast_worker_stop(readpast_worker worker, readpast_error *err);

/// Stops a worker, and gives back at once what has not ended, without spending an attempt: for a program that is about to end and
/// waits for its handlers no longer. A handler that works on such an item has lost it (`readpast_worker_is_lost`), and its end is
/// of no effect (`READPAST_NOT_FOUND`). Returns at once; `readpast_worker_close` waits until the database knows. After a close that
/// timed out it makes the call itself, once, and waits five seconds for it at most.
///
/// *Threads*: not from a signal handler.
///
/// *Returns*:
/// - `READPAST_OK`, also when it was stopped or abandoned before.
readpast_status readpast_worker_abandon(readpast_worker worker,
                                        readpast_error *err);

/// Whether a worker was stopped, or has failed.
///
/// *Returns*: 1 if so; 0 if not; 1 for a worker that is null or freed.
int32_t readpast_worker_is_stopping(readpast_worker worker);

/// Stops a worker, and waits up to `wait_ms` (0 to 86400000; -1: as long as a lease of the queue) until all items that were taken
/// have ended and are settled. Then the worker is given up: leases run out, and other workers claim the items in flight. No
/// events and no changes follow, whatever it returns.
///
/// *Returns*:
/// - `READPAST_OK`: nothing is in flight.
/// - `READPAST_TIMED_OUT`: items were still in flight; the message says how many. So does each further close, until
///   `readpast_worker_abandon` has given them back.
/// - `READPAST_INVALID_ARGUMENT`: `wait_ms` is out of range; the worker was closed as with -1.
/// - any failure that made the worker stop.
readpast_status readpast_worker_close(readpast_worker worker,
                                      int64_t wait_ms,
                                      readpast_error *err);

/// The figures of a worker.
///
/// *Returns*:
/// - `READPAST_OK`: `*figures` is written.
/// - `READPAST_INVALID_ARGUMENT`: `figures` is NULL or not initialised.
readpast_status readpast_worker_get_figures(readpast_worker worker,
                                            readpast_worker_figures *figures,
                                            readpast_error *err);

/// Takes up to `max_events` (1 to 1000) unread events, oldest first, waiting up to `wait_ms` (0 to 86400000) for the first. A
/// worker keeps as many as its options say; when more come, it drops the oldest, first those of items that were settled in order.
///
/// *Ownership*: the caller frees `*events` with `readpast_events_free`.
///
/// *Threads*: each event is returned once.
///
/// *Returns*:
/// - `READPAST_OK`: `*events` holds at least one.
/// - `READPAST_EMPTY`: there was none in time; `*events` is null.
/// - `READPAST_INTERRUPTED`: all are read and no more follow: the worker was closed or freed, or keeps none. `*events` is null.
readpast_status readpast_worker_events(readpast_worker worker,
                                       int32_t max_events,
                                       int64_t wait_ms,
                                       readpast_events *events,
                                       readpast_error *err);

/// Stops a worker and frees it. Returns at once: ended items are settled in the background, items that have not begun are
/// released, and the leases of the others run out. To wait, close it first. The null handle, and one that was freed already, are
/// ignored.
void readpast_worker_free(readpast_worker worker);

/// How many events there are.
///
/// *Returns*: the number, from 1 to 1000; 0 for events that are null or freed.
int32_t readpast_events_count(readpast_events events);

/// The event at `index`, counted from 0.
///
/// *Ownership*: the texts are those of `events`, until that is freed.
///
/// *Returns*:
/// - `READPAST_OK`: `*event` is written.
/// - `READPAST_NOT_FOUND`: there is no such event; `*event` is not written.
/// - `READPAST_INVALID_ARGUMENT`: `event` is NULL or not initialised.
readpast_status readpast_events_get(readpast_events events, int32_t index, readpast_event *event, readpast_error *err);

/// Frees events, and what they lent. The null handle, and one that was freed already, are ignored.
void readpast_events_free(readpast_events events);

/// Writes an error as text for a log line: whole up to 500 characters; of a longer one the beginning, how many characters were
/// left out, and the end. The item's error column has all of it. Bytes that are not UTF-8, and NUL, become U+FFFD.
///
/// `error` has `error_length` bytes or, where that is 0, ends in NUL. `text` has `room` bytes, at least `READPAST_LOG_TEXT_ROOM`.
///
/// *Returns*: the length of the text in bytes, without the NUL at its end. 0 when `error` is NULL, for which the text is empty; and
/// when `text` is NULL or the room too small, for which nothing is written.
size_t readpast_log_text(const char *error,
                         size_t error_length,
                         char *text,
                         size_t room);



/* ---- Operating a queue ---- */

/// Answers the question called `what`, as the command's `--json` does: `"stats"`, `"trend"`, `"watch"`, `"types"`, `"errors"`,
/// `"workers"`, `"find"`, `"show"`, `"why"`, `"retry"`, `"redrive"`, `"cancel"`, `"pause"`, `"resume"`, `"purge"`, `"recover"`,
/// `"settings"`, `"set"`, `"doctor"`. docs/ask.md has the arguments and the answer of each. Later versions may add questions,
/// arguments and members of answers.
///
/// `arguments_json` is a JSON object, like `{"items": [{"key": "2026-11-21T08:30:00.1234560"}]}`; NULL gives none. An argument that
/// the question does not take is refused.
///
/// The answer is JSON on one line. Calls on items answer for each of them: an item that was left unchanged is no failure.
///
/// *Ownership*: the caller frees `*answer` with `readpast_text_free`.
///
/// *Returns*:
/// - `READPAST_OK`: `*answer` holds the answer; `readpast_text_get` reads it.
/// - `READPAST_INVALID_ARGUMENT`: there is no such question, or an argument cannot be taken; the message names those that there
///   are.
/// - `READPAST_INVALID_ITEM`: a key is not one of this queue's, or a value of `set` does not fit it.
/// - `READPAST_OUTCOME_UNKNOWN`: see there.
/// - `READPAST_INTERRUPTED`: between the two looks of a trend, by `readpast_queue_interrupt`.
/// - any failure of the connection or the server.
readpast_status readpast_queue_ask(readpast_queue queue,
                                   const char *what,
                                   const char *arguments_json,
                                   readpast_text *answer,
                                   readpast_error *err);

/// Finds up to `max_items` (1 to 1000) items, in the order of their keys. It claims and changes nothing.
///
/// `filter_json` is a JSON object in which every member narrows the choice: `keys`, `status` and `types` (arrays of text),
/// `before` and `after` (UTC times, of the last change), `error` (a part of its text, case-sensitive, without wildcards),
/// `longer_ms` (a whole number: the last attempt took more milliseconds, or the item has been Processing for more) and `columns`
/// (an object of values that the item's own columns have; `Payload.id` is a member of the JSON in the column `Payload`). NULL: all
/// items.
///
/// `after_key` is the last key of the page before; NULL: from the start.
///
/// *Ownership*: the caller frees `*batch` with `readpast_batch_free`. The texts are copied.
///
/// *Returns*:
/// - `READPAST_OK`: `*batch` holds at least one item.
/// - `READPAST_EMPTY`: there is none, or none after `after_key`; `*batch` is null.
/// - `READPAST_INVALID_ARGUMENT`: an argument cannot be taken; the message names it.
/// - `READPAST_INVALID_ITEM`: a key is not one of this queue's.
/// - any failure of the connection or the server.
readpast_status readpast_queue_find(readpast_queue queue,
                                    const char *filter_json,
                                    const char *after_key,
                                    int32_t max_items,
                                    readpast_batch *batch,
                                    readpast_error *err);



/* ---- What this process has done ---- */

/// This process's work on its queues since it began, in Prometheus' text format (`text/plain; version=0.0.4; charset=utf-8`), for
/// a page that Prometheus scrapes: claims, settlements by outcome, lost leases, retries, errors, durations of calls, connections
/// and workers, with the labels `schema` and `queue`. docs/reference.md lists the names; later versions may add some. It covers
/// all queues that were opened in the process, through any binding of this library; the counters of closed ones stay. (Figures
/// from the database are not in it: `readpast serve` has those.)
///
/// It asks no server, waits for none, and opens nothing: call it every few seconds.
///
/// *Ownership*: the caller frees `*text` with `readpast_text_free`.
///
/// *Threads*: at any time, beside other calls. In the child of a fork the figures start from zero.
///
/// *Returns*:
/// - `READPAST_OK`: `*text` holds the figures; `readpast_text_get` reads them.
/// - `READPAST_INVALID_ARGUMENT`: `text` is NULL.
readpast_status readpast_metrics(readpast_text *text,
                                 readpast_error *err);


#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // READPAST_H
