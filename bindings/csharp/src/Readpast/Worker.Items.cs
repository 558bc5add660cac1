using System;

namespace Readpast
{
    /// <content>Items are handled one after the other, and ended.</content>
    public sealed partial class Worker
    {
        /// <summary>However it ends, the items are nobody's any more.</summary>
        private void WorkOn(Batch batch, Engine running)
        {
            int begun = 0;
            try
            {
                Claimed?.Invoke(batch);
                while (begun < batch.Count)
                {
                    Item item = batch[begun];
                    if (running.IsStopping || running.IsLost(item.Key, item.Attempt))
                    {
                        // One that was lost meanwhile has been told of.
                        running.End(item, item.Release());
                        begun++;
                    }
                    else
                    {
                        begun++;
                        WorkOn(item, running);
                    }
                }
            }
            finally
            {
                for (; begun < batch.Count; begun++)
                {
                    running.End(batch[begun], batch[begun].Release());
                }
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
