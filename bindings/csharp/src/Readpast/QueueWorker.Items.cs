using System;
using System.Threading;

namespace Readpast
{
    /// <content>Items are handled one after the other, and ended.</content>
    public sealed partial class QueueWorker
    {
        /// <summary>Works on those that may begin. However it ends, the items are nobody's any more.</summary>
        private void WorkOn(Batch batch, Engine running, ExecutionContext clean)
        {
            try
            {
                Claimed?.Invoke(batch);
                foreach (Item item in batch)
                {
                    if (running.Begin(item))
                    {
                        // A handler's leftovers there must not reach the next one.
                        ExecutionContext.Run(clean.CreateCopy(), state => WorkOn((Item)state, running), item);
                    }
                }
            }
            catch
            {
                // First, so that others have the rest at once.
                Stop();
                running.GiveBack(batch);
                throw;
            }
        }

        private void WorkOn(Item item, Engine running)
        {
            Exception thrown;
            Settlement settlement = Handle(item, out thrown);
            try
            {
                if (thrown != null)
                {
                    LogThrown(item, thrown);
                }
                else
                {
                    LogFailed(item, settlement);
                }
            }
            finally
            {
                // Also when a listener throws: what the handler did is done.
                running.End(item, settlement);
            }
        }

        private Settlement Handle(Item item, out Exception thrown)
        {
            try
            {
                thrown = null;
                return Checked(handler(item) ?? item.Complete(), item);
            }
            catch (Exception exception)
            {
                thrown = exception;
                return item.Retry(exception.ToString());
            }
        }

        private static Settlement Checked(Settlement settlement, Item item)
        {
            if (settlement.Key != item.Key)
            {
                return Mistaken(
                    item,
                    "the handler of item " + item.Key + " settled item " + settlement.Key +
                    "; it may only settle its own");
            }
            return settlement;
        }
    }
}
