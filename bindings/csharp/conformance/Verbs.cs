using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Readpast;
using Request = System.Collections.Generic.IDictionary<string, object>;

namespace Conformance
{
    using Answer = Dictionary<string, object>;

    /// <summary>One method a verb: the arguments, the call, the answer.</summary>
    internal static class Verbs
    {
        private static readonly Dictionary<string, Func<Request, Answer>> All =
            new Dictionary<string, Func<Request, Answer>>
            {
                { "hello", Hello },
                { "describe", Describe },
                { "install", Install },
                { "open", Open },
                { "share", Share },
                { "enqueue", Enqueue },
                { "claim", Claim },
                { "settle", Settle },
                { "settle_and_claim", SettleAndClaim },
                { "renew", Renew },
                { "wait_for", WaitFor },
                { "find", Find },
                { "ask", Ask },
                { "metrics", request => Ok().With("text", ReadpastLibrary.Metrics()) },
                { "interrupt", request => Done(QueueOf(request).Interrupt) },
                { "resume", request => Done(QueueOf(request).Resume) },
                { "close", request => Done(() => QueueOf(request).Close(request.Milliseconds("timeout_ms").Value)) },
                { "free", Free },
                { "renewal_start", StartRenewal },
                { "renewal_release", ReleaseRenewal },
                { "renewal_lost", request => Ok().With("keys", RenewalOf(request).LostKeys.ToArray()) },
                { "value", Value },
                { "claim_in_child", request => Answers.Of(Child.Claim(QueueOf(request))) },
                { "work", Work.Run },
            };

        internal static Answer Call(Request request)
        {
            Func<Request, Answer> verb;
            if (!All.TryGetValue((string)request["do"], out verb))
            {
                return new Answer { { "status", "UNSUPPORTED" } };
            }
            try
            {
                return verb(request);
            }
            catch (QueueException exception)
            {
                return Answers.Of(exception);
            }
            catch (ObjectDisposedException exception)
            {
                return Answers.Of(Status.Closed, exception);
            }
            catch (ArgumentException exception)
            {
                return Answers.Of(Status.InvalidArgument, exception);
            }
        }

        internal static Answer Ok()
        {
            return Answers.Of(Status.Ok);
        }

        internal static Queue QueueOf(Request request)
        {
            return Objects.Get<Queue>("queue", request);
        }

        private static LeaseRenewal RenewalOf(Request request)
        {
            return Objects.Get<LeaseRenewal>("renewal", request);
        }

        private static TimeSpan Wait(Request request)
        {
            return request.Milliseconds("wait_ms") ?? TimeSpan.Zero;
        }

        private static Answer Done(Action call)
        {
            call();
            return Ok();
        }

        private static Answer Hello(Request request)
        {
            return Ok()
                .With("language", "csharp").With("version", ReadpastLibrary.Version).With("abi", ReadpastLibrary.Abi);
        }

        private static Answer Install(Request request)
        {
            return Done(() => Queue.Install(request.Options(), request.Json("spec")));
        }

        private static Answer Open(Request request)
        {
            Queue queue = Queue.Open(request.Options(), request.Text("name"));
            Objects.Keep("queue", request.Text("queue"), queue);
            return Ok().With("worker", queue.Worker).With("lease_ms", (long)queue.Lease.TotalMilliseconds);
        }

        private static Answer Share(Request request)
        {
            string place = request.Text("place");
            Queue queue = QueueOf(request);
            Objects.Keep("queue", request.Text("as"), place == null ? queue.Share() : queue.At(place));
            return Ok();
        }

        private static Answer Enqueue(Request request)
        {
            Answers<Receipt> receipts = QueueOf(request).Enqueue(
                request.List("items").Select(Requests.ToNewItem), request.Text("operation"));
            return Answers.Of(receipts.Status).With("receipts", receipts.Select(receipt => new Answer
            {
                { "key", receipt.Key },
                { "token", receipt.Token },
                { "answer", ReadpastLibrary.NameOf(receipt.Answer) },
            }).ToArray());
        }

        /// <summary>A call's items: returns them, and keeps them if the driver wants that.</summary>
        private static Answer Claim(Request request)
        {
            return Claimed(request, QueueOf(request).Claim(request.Number("max", 1), Wait(request)));
        }

        private static Answer WaitFor(Request request)
        {
            return Claimed(request, QueueOf(request).WaitFor(request.Text("key"), Wait(request)));
        }

        private static Answer Claimed(Request request, Batch batch)
        {
            Answer answer = Answers.Of(batch.Status);
            if (batch.Status == Status.Ok)
            {
                answer["items"] = Answers.Items(batch, batch.Columns);
            }
            Keep(request, batch);
            return answer;
        }

        private static void Keep(Request request, Batch batch)
        {
            string name = request.Text("as");
            if (name != null && batch.Count > 0)
            {
                Objects.Keep("batch", name, batch);
            }
            else
            {
                batch.Dispose();
            }
        }

        private static Answer Settled(Answers<Outcome> outcomes)
        {
            return Answers.Of(outcomes.Status).With("outcomes", Answers.Outcomes(outcomes));
        }

        private static Answer Settle(Request request)
        {
            return Settled(QueueOf(request).Settle(
                request.List("settlements").Select(Requests.ToSettlement), request.Text("operation")));
        }

        private static Answer SettleAndClaim(Request request)
        {
            SettledAndClaimed both = QueueOf(request).SettleAndClaim(
                request.List("settlements").Select(Requests.ToSettlement), request.Number("max", 1),
                request.Text("operation"));
            Answer answer = Settled(both.Outcomes).With("items", Answers.Items(both.Batch, both.Batch.Columns));
            Keep(request, both.Batch);
            return answer;
        }

        private static Answer Describe(Request request)
        {
            return Ok().With("name", ReadpastLibrary.NameOf((Status)request.Number("status", 0)));
        }

        private static Answer Renew(Request request)
        {
            return Settled(QueueOf(request).Renew(
                request.List("leases").Select(lease => new Lease(lease.Text("key"), lease.Number("attempt", 0)))));
        }

        private static Answer Find(Request request)
        {
            return Claimed(request, QueueOf(request).Find(
                request.Json("filter"), request.Text("after"), request.Number("max", 1000)));
        }

        private static Answer Ask(Request request)
        {
            string answer = QueueOf(request).Ask(request.Text("what"), request.Json("arguments"));
            return Ok().With("answer", Program.Parse(answer));
        }

        private static Answer Free(Request request)
        {
            foreach (string kind in new[] { "queue", "batch", "renewal" })
            {
                if (request.ContainsKey(kind))
                {
                    Objects.Get<IDisposable>(kind, request).Dispose();
                }
            }
            return Ok();
        }

        private static Answer StartRenewal(Request request)
        {
            LeaseRenewal renewal = QueueOf(request).StartRenewal(
                Objects.Get<Batch>("batch", request), request.Milliseconds("interval_ms"));
            Objects.Keep("renewal", request.Text("as"), renewal);
            return Ok();
        }

        private static Answer ReleaseRenewal(Request request)
        {
            return Answers.Of(RenewalOf(request).Release(request.Text("key")) ? Status.Ok : Status.NotFound);
        }

        private static Answer Value(Request request)
        {
            Batch batch = Objects.Get<Batch>("batch", request);
            int index = request.Number("index", 0);
            string name = request.Text("column");
            Column column = batch.Columns.FirstOrDefault(
                each => string.Equals(each.Name, name, StringComparison.OrdinalIgnoreCase));
            try
            {
                batch[index].IsNull(name);
            }
            catch (KeyNotFoundException)
            {
                return Answers.Of(Status.NotFound);
            }
            catch (IndexOutOfRangeException)
            {
                return Answers.Of(Status.NotFound);
            }
            Answer value = column != null
                ? Answers.Value(batch[index], column)
                : Answers.Unnamed(batch[index], name);
            return value.With("status", ReadpastLibrary.NameOf(Status.Ok));
        }
    }
}
