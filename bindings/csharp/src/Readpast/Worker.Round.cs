using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Text;
using System.Threading;
using Readpast.Native;

namespace Readpast
{
    /// <content>A batch: its items are handled, then settled.</content>
    public sealed partial class Worker
    {
        /// <summary>What an error column holds at most, in UTF-16 characters; stacks can be long.</summary>
        private const int LongestError = 16 * 1024;

        /// <summary>What any error column holds, where a longer text may be what was refused.</summary>
        private const int ShortError = 100;

        private static string Describe(Exception exception)
        {
            return Storable(exception.ToString(), LongestError);
        }

        private static string Storable(string text, int longest)
        {
            var told = new StringBuilder(Math.Min(text.Length, longest));
            for (int i = 0; i < text.Length && told.Length < longest; i++)
            {
                if (char.IsSurrogatePair(text, i))
                {
                    told.Append(text, i++, 2);
                }
                else
                {
                    // A message may hold what no column takes; half a character is no reason to lose the rest.
                    told.Append(text[i] == '\0' || char.IsSurrogate(text[i]) ? '\uFFFD' : text[i]);
                }
            }
            return told.ToString();
        }

        /// <summary>
        /// What cannot be sent would fail the settling of the whole batch; it is the handler's mistake, and its item's
        /// alone.
        /// </summary>
        private static Settlement Checked(Settlement settlement, Item item)
        {
            if (settlement.Key != item.Key)
            {
                return Mistaken(
                    item,
                    "the handler of item " + item.Key + " settled item " + settlement.Key +
                    "; it may only settle its own");
            }
            using (var texts = new Arena())
            {
                texts.Text(settlement.Step, nameof(settlement.Step));
                texts.Text(settlement.Response, nameof(settlement.Response));
                texts.Text(settlement.Error, nameof(settlement.Error));
                texts.Text(settlement.Due, nameof(settlement.Due));
            }
            return settlement;
        }

        /// <summary>
        /// Whether what one handler gave may be the reason: out of range, or more than a column takes.
        /// </summary>
        private static bool IsOfOneItem(QueueException exception)
        {
            return exception.Status == Status.InvalidArgument || exception.Status == Status.InvalidItem ||
                exception.Status == Status.Database;
        }

        /// <summary>Handles the items of a batch, settles them, and returns the next batch.</summary>
        private Batch WorkOn(Batch batch)
        {
            using (batch)
            {
                var settlements = new List<Settlement>(batch.Count);
                using (LeaseRenewal renewal = own.StartRenewal(batch))
                {
                    batch.Renewal = renewal;
                    Claimed?.Invoke(batch);
                    foreach (Item item in batch)
                    {
                        // Of what was lost before it was begun, the refusal is all there is to report.
                        settlements.Add(stopped.IsSet || item.IsLost ? item.Release() : Handle(item));
                    }
                }
                try
                {
                    return Settle(settlements, BatchSize);
                }
                catch (QueueException exception) when (IsOfOneItem(exception))
                {
                    foreach (Settlement settlement in settlements)
                    {
                        SettleAlone(settlement);
                    }
                    return NoItems();
                }
            }
        }

        private Batch NoItems()
        {
            return new Batch(own, Status.Empty, default(Handle));
        }

        private Settlement Handle(Item item)
        {
            Settlement settlement;
            try
            {
                settlement = Checked(handler(item) ?? item.Complete(), item);
            }
            catch (Exception exception)
            {
                LogThrown(item, exception);
                return item.Retry(Describe(exception));
            }
            LogFailed(settlement);
            return settlement;
        }

        /// <summary>Settles items and claims up to <paramref name="max"/>; 0: none.</summary>
        private Batch Settle(IReadOnlyList<Settlement> settlements, int max)
        {
            var clock = Stopwatch.StartNew();
            SettledAndClaimed both = Try(
                "settling",
                operation => max > 0
                    ? own.SettleAndClaim(settlements, max, operation)
                    : new SettledAndClaimed(own.Settle(settlements, operation), NoItems()));
            TimeSpan took = clock.Elapsed;
            for (int i = 0; i < settlements.Count; i++)
            {
                if (both.Outcomes[i].Answer != Status.Ok)
                {
                    LogUnsettled(settlements[i], both.Outcomes[i]);
                }
            }
            Settled?.Invoke(settlements, both.Outcomes, took, both.Batch.Count);
            return both.Batch;
        }

        /// <summary>
        /// Settles one item so that what is wrong with it does not hold up the others: without what the database or the
        /// library refuses, which its error then says. What is done stays done.
        /// </summary>
        private void SettleAlone(Settlement given)
        {
            Settlement bare;
            try
            {
                Settle(new[] { given }, 0);
                return;
            }
            catch (QueueException exception) when (IsOfOneItem(exception))
            {
                LogRefused(given, exception);
                string told = (given.Error == null ? "" : given.Error + "; ") +
                    "what the handler gave was refused: " + exception.Message;
                bare = new Settlement(given.Key, given.Token, given.Attempt, given.Action)
                {
                    Error = Storable(told, ShortError),
                };
            }
            Settle(new[] { bare }, 0);
        }

        /// <summary>
        /// Makes a call until it succeeds, with the same operation once an outcome is unknown; throws what no other try
        /// mends. Who is to stop waits for the server no longer than a lease, and only to learn an outcome: leases run
        /// out then, and others take over.
        /// </summary>
        private T Try<T>(string doing, Func<string, T> call)
        {
            string operation = null;
            Stopwatch stopping = null;
            while (true)
            {
                try
                {
                    return call(operation);
                }
                catch (QueueException exception) when (exception.IsTransient || exception.Operation != null)
                {
                    operation = exception.Operation ?? operation;
                    if (stopped.IsSet)
                    {
                        stopping = stopping ?? Stopwatch.StartNew();
                        if (operation == null || stopping.Elapsed > own.Lease)
                        {
                            throw;
                        }
                    }
                    LogTrouble(doing, exception);
                    if (operation == null)
                    {
                        stopped.Wait(Pause);
                    }
                    else
                    {
                        Thread.Sleep(Pause);
                    }
                }
            }
        }
    }
}
