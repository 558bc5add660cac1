using System;
using System.Threading;
using System.Threading.Tasks;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// An open queue, with its connections and its worker's name. Any number of threads may use it at once; each call
    /// takes a connection of its own.
    /// </summary>
    /// <remarks>
    /// Every call can throw <see cref="QueueException"/> for a failure, <see cref="ObjectDisposedException"/> after
    /// <see cref="Dispose"/>, and <see cref="ArgumentException"/> for text that cannot be sent. Connections do not
    /// survive a fork: in the child calls throw with <see cref="Status.Forked"/>.
    /// </remarks>
    public sealed partial class Queue : IDisposable
#if NET
        , IAsyncDisposable
#endif
    {
        private readonly QueueHandle handle;

        /// <summary>
        /// The handle for claims: a shared one, so that <see cref="Dispose"/> interrupts no other user.
        /// </summary>
        private readonly QueueHandle claims;

        private readonly bool isSpread;

        private Queue(QueueHandle handle, AsyncCalls calls, bool isSpread)
        {
            this.handle = handle;
            this.calls = calls;
            this.isSpread = isSpread;
            group = new EnqueueGroup(this, calls, isSpread);
            line = new ClaimLine(this);
            try
            {
                claims = Shared(handle);
            }
            catch
            {
                handle.Dispose();
                throw;
            }
        }

        /// <summary>The name of the queue, as its description has it.</summary>
        public string Name
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return Utf8.Read(QueueMethods.readpast_queue_name(use.Handle));
                }
            }
        }

        /// <summary>
        /// Whether trace context travels with its items, so that activities are worth their while: whether its
        /// description has <c>trace</c>.
        /// </summary>
        public bool IsTraced
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return QueueMethods.readpast_queue_is_traced(use.Handle) != 0;
                }
            }
        }

        /// <summary>The name that the leases are held under: the setting <c>worker</c>, or a name of its own.</summary>
        public string Worker
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return Utf8.Read(QueueMethods.readpast_queue_worker(use.Handle));
                }
            }
        }

        /// <summary>
        /// How long a claim holds: the setting <c>lease.ms</c>, or else what the queue's description says. The queue's
        /// leaseMs in AppSettings overrides the description on the server, and is not asked for here.
        /// </summary>
        public TimeSpan Lease
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return TimeSpan.FromMilliseconds(QueueMethods.readpast_queue_lease_ms(use.Handle));
                }
            }
        }

        /// <summary>
        /// How many connections were given up so far, since they fell silent without being closed; see docs/worker.md.
        /// </summary>
        public long GivenUp
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return QueueMethods.readpast_queue_given_up(use.Handle);
                }
            }
        }

        /// <summary>
        /// Installs readpast's own objects, or upgrades them, and the queue that <paramref name="spec"/> describes.
        /// Objects that are there are left alone, so it can be called at every start. Needs the rights to create them.
        /// </summary>
        /// <param name="options">The connection and the schema.</param>
        /// <param name="spec">The queue's description itself, as JSON or TOML; null for no queue.</param>
        /// <exception cref="QueueException">
        /// The description has a mistake, a right is missing, and the like.
        /// </exception>
        public static void Install(QueueOptions options, string spec = null)
        {
            using (var config = Required(options).ToConfig())
            using (var use = config.Borrow())
            using (var texts = new Arena())
            {
                QueueException.Check(
                    ConfigMethods.readpast_install(
                        use.Handle, texts.Text(spec, nameof(spec)), out Handle error), error);
            }
        }

        /// <summary>
        /// <see cref="Install"/> with the description in a file, as JSON or TOML.
        /// </summary>
        /// <param name="options">The connection and the schema.</param>
        /// <param name="path">The name of the file.</param>
        /// <exception cref="System.IO.IOException">The file cannot be read.</exception>
        public static void InstallFile(QueueOptions options, string path)
        {
            Install(options, System.IO.File.ReadAllText(path));
        }

        /// <summary>Connects, checks that the queue is as the library needs it, and opens it.</summary>
        /// <param name="options">The settings; they are copied.</param>
        /// <param name="name">The queue's name.</param>
        /// <returns>The queue, to be disposed of.</returns>
        /// <exception cref="QueueException">
        /// There is no connection, no such queue, or another version of it.
        /// </exception>
        public static Queue Open(QueueOptions options, string name)
        {
            using (var config = Required(options).ToConfig())
            using (var use = config.Borrow())
            using (var texts = new Arena())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_open(
                        use.Handle, texts.Text(name, nameof(name)), out Handle queue, out Handle error), error);
                return new Queue(new QueueHandle(queue), AsyncCalls.For(options), options.AreOfAllPlaces);
            }
        }

        /// <summary>
        /// Another handle on the same queue, with its connections and leases in common, which can be interrupted for
        /// itself alone; when this one is interrupted, it is too. Closing one closes all; disposing of one leaves the
        /// others.
        /// </summary>
        /// <returns>The handle, to be disposed of.</returns>
        public Queue Share()
        {
            return new Queue(Shared(handle), calls, isSpread);
        }

        /// <summary>
        /// Makes every claim on this handle and on those shared of it, waiting or to come, return at once with
        /// <see cref="Status.Interrupted"/> until <see cref="Resume"/>. Settling and renewing go on, so that work in
        /// hand can be finished.
        /// </summary>
        public void Interrupt()
        {
            InterruptClaims(handle);
        }

        /// <summary>Ends what <see cref="Interrupt"/> began.</summary>
        public void Resume()
        {
            ResumeClaims(handle);
        }

        /// <summary>
        /// Has each waiting claim in this process look at the queue at once. Call it after you enqueue without the
        /// library, or when the transaction of an enqueue has committed.
        /// </summary>
        public void Wake()
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(QueueMethods.readpast_queue_wake(use.Handle, out Handle error), error);
            }
        }

        /// <summary>
        /// A queue whose Enqueue and Settle work on an ODBC connection of the caller's, inside its transaction. All
        /// else throws with <see cref="Status.NotProvided"/>. The library neither commits nor closes the connection.
        /// This is for programs that call ODBC themselves: System.Data.Odbc does not give its handle. For SqlClient,
        /// Npgsql, Dapper and EF Core there are the calls of <see cref="QueueConnection"/>.
        /// </summary>
        /// <param name="connection">The address of its handle (SQLHDBC), which the caller keeps open.</param>
        /// <returns>The handle, to be disposed of.</returns>
        public Queue Attach(IntPtr connection)
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_attach(
                        use.Handle, connection, out Handle attached, out Handle error),
                    error);
                return new Queue(new QueueHandle(attached), new AsyncCalls(1), false);
            }
        }

        /// <summary>
        /// Another handle, as of <see cref="Share"/>, at one of the places of a queue that is spread over several
        /// databases, for calls that cannot be about all of them. Keys have the place before them there, too.
        /// </summary>
        /// <param name="place">The name of the place.</param>
        /// <returns>The handle, to be disposed of.</returns>
        public Queue At(string place)
        {
            using (var texts = new Arena())
            using (var use = handle.Borrow())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_at(
                        use.Handle, texts.Text(place, nameof(place)), out Handle at, out Handle error),
                    error);
                return new Queue(new QueueHandle(at), calls, false);
            }
        }

        /// <summary>
        /// Whether the call that was made with this operation has committed, for a caller who has lost the answer to a
        /// commit of his own. One that is under way is waited for; after an hour identities are forgotten.
        /// </summary>
        /// <param name="operation">The identity, a UUID.</param>
        /// <returns>Whether it has.</returns>
        public bool IsDone(string operation)
        {
            using (var texts = new Arena())
            using (var use = handle.Borrow())
            {
                int status = QueueMethods.readpast_queue_is_done(
                    use.Handle, texts.Text(operation, nameof(operation)), out Handle error);
                return QueueException.Check(status, error) == Status.Ok;
            }
        }

        /// <summary>
        /// Closes the connections of this and all shared handles. From here on calls throw with
        /// <see cref="Status.Closed"/>, and so do claims that wait.
        /// </summary>
        /// <param name="timeout">How long to wait for calls under way; up to a day.</param>
        /// <exception cref="QueueException">
        /// With <see cref="Status.TimedOut"/>: calls are still under way. New ones are refused nevertheless.
        /// </exception>
        public void Close(TimeSpan timeout)
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_close(use.Handle, Milliseconds(timeout), out Handle error), error);
            }
        }

        /// <summary>
        /// Frees this handle. Its claims that wait are interrupted; other calls that threads have under way on it end
        /// as they would have, and the last of them closes the connections if no shared handle is left.
        /// <see cref="Close"/> before it is the orderly way. Again: does nothing.
        /// </summary>
        public void Dispose()
        {
            try
            {
                InterruptClaims(claims);
            }
            catch (ObjectDisposedException)
            {
                // It was done before, or another thread is about to.
            }
            catch (QueueException)
            {
                // In the child of a fork there is nobody to interrupt.
            }
            claims.Dispose();
            handle.Dispose();
        }

#if NET
        /// <summary><see cref="Dispose"/> as a task: it may wait until connections are closed.</summary>
        /// <returns>A task that ends when it has.</returns>
        public ValueTask DisposeAsync()
        {
            return new ValueTask(Others.Run(Dispose, CancellationToken.None));
        }
#endif

        internal LibraryHandle.Use Borrow()
        {
            return handle.Borrow();
        }

        internal static long Milliseconds(TimeSpan time)
        {
            return global::Readpast.Milliseconds.Of(time);
        }

        /// <summary>A time that may be left out, as the library takes it: it would take -1 ms for none.</summary>
        internal static long OrNone(string name, TimeSpan? time)
        {
            if (time < TimeSpan.Zero)
            {
                throw new ArgumentOutOfRangeException(name, time, "it must not be negative");
            }
            return time.HasValue ? Milliseconds(time.Value) : -1;
        }

        private static QueueHandle Shared(QueueHandle of)
        {
            using (var use = of.Borrow())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_share(use.Handle, out Handle shared, out Handle error), error);
                return new QueueHandle(shared);
            }
        }

        internal static void ResumeClaims(QueueHandle on)
        {
            using (var use = on.Borrow())
            {
                QueueException.Check(QueueMethods.readpast_queue_resume(use.Handle, out Handle error), error);
            }
        }

        internal static void InterruptClaims(QueueHandle on)
        {
            using (var use = on.Borrow())
            {
                QueueException.Check(QueueMethods.readpast_queue_interrupt(use.Handle, out Handle error), error);
            }
        }

        private static QueueOptions Required(QueueOptions options)
        {
            return options ?? throw new ArgumentNullException(nameof(options));
        }
    }
}
