namespace Readpast
{
    /// <summary>
    /// The result of a call: 0 is success, above 0 are outcomes to be expected, below 0 failures. Later versions may
    /// add numbers.
    /// </summary>
    public enum Status
    {
        /// <summary>Done.</summary>
        Ok = 0,

        /// <summary>No item was due.</summary>
        Empty = 1,

        /// <summary>
        /// The worker does not hold the item any more: its lease ran out and the item was given back, or an
        /// operator took it. The item is untouched.
        /// </summary>
        LeaseLost = 2,

        /// <summary>The token is not the item's any more: somebody changed it since. The item is untouched.</summary>
        Conflict = 3,

        /// <summary>The item's state does not allow it. The item is untouched.</summary>
        IllegalTransition = 4,

        /// <summary>There is no such item, or column.</summary>
        NotFound = 5,

        /// <summary><c>Queue.Interrupt</c> was called, and <c>Queue.Resume</c> was not.</summary>
        Interrupted = 6,

        /// <summary>The same work is in the queue already: nothing was enqueued for it.</summary>
        Duplicate = 7,

        /// <summary>
        /// An argument is NULL, out of its range or not UTF-8; the message names it. Nothing was sent to the
        /// server.
        /// </summary>
        InvalidArgument = -1,

        /// <summary>The handle is null, freed, of another type, or not one of ours.</summary>
        InvalidHandle = -2,

        /// <summary>A setting is unknown, out of its range, or missing.</summary>
        InvalidConfig = -3,

        /// <summary>
        /// A new item does not fit the queue: not an object, unknown column, wrong type, value too long.
        /// </summary>
        InvalidItem = -4,

        /// <summary>The caller was built with a newer header and uses what this library does not know.</summary>
        Unsupported = -5,

        /// <summary>The queue was closed.</summary>
        Closed = -6,

        /// <summary>The handle is from before a fork. Open what the child process needs in the child.</summary>
        Forked = -7,

        /// <summary>
        /// This process has run out of memory, of file descriptors or of handles; the message says of what.
        /// </summary>
        Exhausted = -8,

        /// <summary>A bug in readpast. Its handle is of no use any more; free it.</summary>
        Panic = -9,

        /// <summary>The schema holds no queue of that name.</summary>
        UnknownQueue = -20,

        /// <summary>readpast's own objects are not installed in the schema.</summary>
        SchemaMissing = -21,

        /// <summary>The objects in the schema are older than this library: install again to upgrade them.</summary>
        SchemaOlder = -22,

        /// <summary>The objects in the schema are newer than this library: upgrade the library.</summary>
        SchemaNewer = -23,

        /// <summary>The queue's table or procedures differ from what was installed.</summary>
        SchemaMismatch = -24,

        /// <summary>The queue cannot do this: its procedures were written by hand and have nothing for it, or it has
        /// no index for the kinds asked for.</summary>
        NotProvided = -25,

        /// <summary>The ODBC driver that the connection string names is not installed.</summary>
        DriverMissing = -40,

        /// <summary>No server answered at the address.</summary>
        Unreachable = -41,

        /// <summary>The server refused the user name or password.</summary>
        Authentication = -42,

        /// <summary>The database does not exist, or the user may not open it.</summary>
        DatabaseMissing = -43,

        /// <summary>Client and server could not agree on encryption, or the certificate is not trusted.</summary>
        Encryption = -44,

        /// <summary>The connection broke in use.</summary>
        ConnectionLost = -45,

        /// <summary>The login lacks a right.</summary>
        PermissionDenied = -60,

        /// <summary>The server did not answer in time, or a lock was not granted in time.</summary>
        TimedOut = -61,

        /// <summary>The statement was chosen as a deadlock victim, or lost a serialization conflict.</summary>
        Deadlock = -62,

        /// <summary>The server is failing over, starting, or throttling; a later attempt may succeed.</summary>
        Unavailable = -63,

        /// <summary>The server cannot write: disk full, quota reached, database or server read-only.</summary>
        Storage = -64,

        /// <summary>
        /// The connection was lost at a moment that leaves the outcome open, and it could not be learnt in time.
        /// Make the same call with the identity that <see cref="QueueException.Operation"/> gives.
        /// </summary>
        OutcomeUnknown = -65,

        /// <summary>The server refused the statement for a reason that no other status names.</summary>
        Database = -66,

        /// <summary>The server's answer does not have the shape that the installed procedures give.</summary>
        Protocol = -67,

        /// <summary>
        /// All connections of the queue's pool were in use for as long as <c>pool.acquire_ms</c> says.
        /// </summary>
        PoolTimeout = -68,
    }
}
