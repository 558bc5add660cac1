using System;
using Readpast.Native;

namespace Readpast
{
    /// <content>Items are handled one after the other, and ended.</content>
    public sealed partial class Worker
    {
        /// <summary>What an error column holds at most, in UTF-16 characters; stacks can be long.</summary>
        private const int LongestError = 16 * 1024;

        /// <summary>However it ends, the items are nobody's any more.</summary>
        private void WorkOn(Batch batch, Engine running)
        {
            int begun = 0;
            try
            {
                Taken?.Invoke(batch);
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
                End(item, settlement, running);
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
                return item.Retry(Utf8.Sendable(exception.ToString(), LongestError));
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
            if (settlement.Action == SettlementAction.Step || settlement.Action == SettlementAction.Resume)
            {
                return Mistaken(
                    item,
                    "the handler of item " + item.Key + " returned " + settlement.Action +
                    ", which ends no item; a step is recorded by RecordStep");
            }
            return settlement;
        }

        /// <summary>
        /// Ends an item. What not even the library can be told, such as a delay below zero, is left out, and the item's
        /// error says so.
        /// </summary>
        private void End(Item item, Settlement settlement, Engine running)
        {
            string refusal;
            try
            {
                running.End(item, settlement);
                return;
            }
            catch (ArgumentException exception)
            {
                // What follows is the name of the parameter.
                refusal = exception.Message.Split('\r', '\n')[0];
            }
            catch (QueueException exception) when (exception.Status == Status.InvalidArgument)
            {
                refusal = exception.Message;
            }
            string told = (settlement.Error == null ? "" : settlement.Error + "; ") +
                "what the handler gave was refused: " + refusal;
            bool isAction = Enum.IsDefined(typeof(SettlementAction), settlement.Action);
            running.End(
                item,
                new Settlement(
                    item.Key, null, item.Attempt, isAction ? settlement.Action : SettlementAction.Fail)
                {
                    Error = told,
                });
            LogRefused(item.Key, item.Attempt, refusal);
        }
    }
}
