using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.ChangeTracking;
using Microsoft.EntityFrameworkCore.Infrastructure;

namespace Readpast.EntityFrameworkCore;

/// <summary>The items of a context that its next commit enqueues.</summary>
internal sealed class PendingItems : IResettableService
{
    private readonly List<Pending> items = new();
    private readonly HashSet<string> written = new();

    /// <summary>The calls of a commit whose answer may have been lost: made again with the same identities.</summary>
    private List<PendingCall>? calls;

    /// <summary>The entities of a save that failed, whose items the next one takes with them.</summary>
    private EntityEntry[] failed = Array.Empty<EntityEntry>();

    /// <summary>How the context was to use transactions, while another way is in force.</summary>
    internal AutoTransactionBehavior? Before { get; set; }

    internal bool IsEmpty => items.Count == 0;

    internal static PendingItems Of(DbContext context)
    {
        return Find(context) ?? throw new InvalidOperationException(
            "the options of " + context.GetType().Name + " have no UseReadpast()");
    }

    internal static PendingItems? Find(DbContext context)
    {
        return (PendingItems?)((IInfrastructure<IServiceProvider>)context).Instance.GetService(typeof(PendingItems));
    }

    internal void Add(QueueName queue, NewItem item, Guid? transaction)
    {
        items.Add(new Pending(queue, item, transaction));
        calls = null;
    }

    /// <summary>
    /// The calls for a transaction that is about to commit. Items of a transaction that ended otherwise are gone.
    /// </summary>
    internal IReadOnlyList<PendingCall> CallsFor(Guid transaction, bool isRepeated)
    {
        if (items.RemoveAll(item => item.Transaction != null && item.Transaction != transaction) > 0)
        {
            calls = null;
        }
        calls ??= items.GroupBy(item => item.Queue.ToString())
            .SelectMany(group => group.Chunk(1000))
            .Select(chunk => new PendingCall(
                chunk[0].Queue, chunk.Select(item => item.Item).ToArray(), isRepeated ? Guid.NewGuid() : null))
            .ToList();
        return calls;
    }

    /// <summary>Its items are in a transaction, and are not to be enqueued again.</summary>
    internal void Written(PendingCall call)
    {
        written.Add(call.Queue.Name);
        var those = new HashSet<NewItem>(call.Items);
        items.RemoveAll(item => those.Contains(item.Item));
        calls = null;
    }

    /// <summary>They wait for the next save of the same entities.</summary>
    internal void Failed(DbContext context)
    {
        failed = context.ChangeTracker.Entries()
            .Where(entry => entry.State is EntityState.Added or EntityState.Modified or EntityState.Deleted).ToArray();
        items.ForEach(item => item.HasFailed = true);
    }

    /// <summary>
    /// Forgets items whose entities <c>ChangeTracker.Clear</c> has given up after a save that failed. No event reports
    /// it; the context then lacks an entity whose entry does not know.
    /// </summary>
    internal void ForgetCleared(DbContext context)
    {
        if (failed.Length == 0)
        {
            return;
        }
        var tracked = new HashSet<object>(
            context.ChangeTracker.Entries().Select(entry => entry.Entity), ReferenceEqualityComparer.Instance);
        bool isCleared = failed.Any(
            entry => entry.State != EntityState.Detached && !tracked.Contains(entry.Entity));
        failed = Array.Empty<EntityEntry>();
        if (isCleared && items.RemoveAll(item => item.HasFailed) > 0)
        {
            calls = null;
        }
    }

    /// <summary>Forgets items that were refused, and were all that was to be saved.</summary>
    internal void Refused()
    {
        items.Clear();
        calls = null;
    }

    /// <summary>The queues that items went to with a transaction that has committed.</summary>
    internal IReadOnlyCollection<string> Committed()
    {
        written.UnionWith(items.Select(item => item.Queue.Name));
        items.Clear();
        calls = null;
        string[] queues = written.ToArray();
        written.Clear();
        return queues;
    }

    public void ResetState()
    {
        items.Clear();
        written.Clear();
        failed = Array.Empty<EntityEntry>();
        calls = null;
    }

    public Task ResetStateAsync(CancellationToken cancellationToken = default)
    {
        ResetState();
        return Task.CompletedTask;
    }

    private sealed record Pending(QueueName Queue, NewItem Item, Guid? Transaction)
    {
        internal bool HasFailed { get; set; }
    }
}

/// <summary>A call that enqueues.</summary>
internal sealed record PendingCall(QueueName Queue, NewItem[] Items, Guid? Operation);
