using System;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// Renews the leases of a batch while its items are worked on, on a thread of the library, which no garbage
    /// collection stops. Any number of threads may use it. Made by <see cref="Queue.StartRenewal"/>.
    /// </summary>
    public sealed class LeaseRenewal : IDisposable
    {
        private readonly RenewalHandle handle;

        internal LeaseRenewal(Handle native)
        {
            handle = new RenewalHandle(native);
        }

        /// <summary>How many items were found lost so far: work on them is in vain.</summary>
        public int LostCount
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return RenewalMethods.readpast_renewal_lost_count(use.Handle);
                }
            }
        }

        /// <summary>The keys of the items that were found lost so far.</summary>
        public IReadOnlyList<string> LostKeys
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    var keys = new string[RenewalMethods.readpast_renewal_lost_count(use.Handle)];
                    for (int i = 0; i < keys.Length; i++)
                    {
                        keys[i] = Utf8.Read(RenewalMethods.readpast_renewal_lost_key(use.Handle, i));
                    }
                    return keys;
                }
            }
        }

        /// <summary>Stops to renew an item: to be called when it is settled.</summary>
        /// <param name="key">The item's key.</param>
        /// <returns>False when it was not, or not any more, renewed.</returns>
        public bool Release(string key)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                Status status = QueueException.Check(
                    RenewalMethods.readpast_renewal_release(
                        use.Handle, texts.Text(key, nameof(key)), out Handle error), error);
                return status == Status.Ok;
            }
        }

        /// <summary>Stops it: waits for a round under way. Leases stay as they are.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
