using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Readpast.Native
{
    /// <summary>
    /// Owns one handle of the library. The handle is a 64-bit number, for which IntPtr is too narrow in a 32-bit
    /// process; so the number stands beside the SafeHandle's own field, which says only whether there is one.
    /// </summary>
    internal abstract class LibraryHandle : SafeHandle
    {
        private static readonly IntPtr Present = new IntPtr(1);

        private readonly Handle native;
        private bool finalizing;

        protected LibraryHandle(Handle native)
            : base(IntPtr.Zero, true)
        {
            this.native = native;
            if (native.Id != 0)
            {
                SetHandle(Present);
            }
        }

        public override bool IsInvalid
        {
            get { return handle == IntPtr.Zero; }
        }

        /// <summary>
        /// The number, kept from being freed until the use is disposed of: another thread may dispose of the object
        /// meanwhile.
        /// </summary>
        /// <exception cref="ObjectDisposedException">It was disposed of.</exception>
        internal Use Borrow()
        {
            return new Use(this);
        }

        protected abstract void Free(Handle handle);

        protected override void Dispose(bool disposing)
        {
            finalizing = !disposing;
            base.Dispose(disposing);
        }

        protected sealed override bool ReleaseHandle()
        {
            if (finalizing)
            {
                // To free may mean to wait for a server, which the finalizer thread must not.
                ThreadPool.UnsafeQueueUserWorkItem(state => Free((Handle)state), native);
            }
            else
            {
                Free(native);
            }
            return true;
        }

        internal struct Use : IDisposable
        {
            internal readonly Handle Handle;
            private readonly LibraryHandle owner;

            internal Use(LibraryHandle owner)
            {
                bool added = false;
                owner.DangerousAddRef(ref added);
                this.owner = owner;
                Handle = owner.native;
            }

            public void Dispose()
            {
                owner.DangerousRelease();
            }
        }
    }

    internal sealed class ConfigHandle : LibraryHandle
    {
        internal ConfigHandle(Handle native)
            : base(native)
        {
        }

        protected override void Free(Handle handle)
        {
            ConfigMethods.readpast_config_free(handle);
        }
    }

    internal sealed class QueueHandle : LibraryHandle
    {
        internal QueueHandle(Handle native)
            : base(native)
        {
        }

        protected override void Free(Handle handle)
        {
            QueueMethods.readpast_queue_free(handle);
        }
    }

    internal sealed class BatchHandle : LibraryHandle
    {
        internal BatchHandle(Handle native)
            : base(native)
        {
        }

        protected override void Free(Handle handle)
        {
            BatchMethods.readpast_batch_free(handle);
        }
    }

    internal sealed class WorkerHandle : LibraryHandle
    {
        internal WorkerHandle(Handle native)
            : base(native)
        {
        }

        protected override void Free(Handle handle)
        {
            WorkerMethods.readpast_worker_free(handle);
        }
    }

    internal sealed class EventsHandle : LibraryHandle
    {
        internal EventsHandle(Handle native)
            : base(native)
        {
        }

        protected override void Free(Handle handle)
        {
            EventsMethods.readpast_events_free(handle);
        }
    }

    internal sealed class RenewalHandle : LibraryHandle
    {
        internal RenewalHandle(Handle native)
            : base(native)
        {
        }

        protected override void Free(Handle handle)
        {
            RenewalMethods.readpast_renewal_free(handle);
        }
    }
}
