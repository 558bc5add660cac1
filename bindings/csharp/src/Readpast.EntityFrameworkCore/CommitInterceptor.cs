using System;
using System.Collections.Generic;
using System.Data.Common;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.Diagnostics;
using Microsoft.EntityFrameworkCore.Infrastructure;
using Microsoft.EntityFrameworkCore.Storage;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Readpast.EntityFrameworkCore;

/// <summary>Enqueues what is pending before a commit, and wakes workers after it.</summary>
internal sealed class CommitInterceptor : DbTransactionInterceptor
{
    public override InterceptionResult TransactionCommitting(
        DbTransaction transaction, TransactionEventData eventData, InterceptionResult result)
    {
        foreach (PendingCall call in CallsOf(eventData))
        {
            transaction.Connection!.Enqueue(call.Queue, call.Items, transaction, call.Operation);
        }
        return result;
    }

    public override async ValueTask<InterceptionResult> TransactionCommittingAsync(
        DbTransaction transaction, TransactionEventData eventData, InterceptionResult result,
        CancellationToken cancellationToken = default)
    {
        foreach (PendingCall call in CallsOf(eventData))
        {
            await transaction.Connection!.EnqueueAsync(
                call.Queue, call.Items, transaction, call.Operation, cancellationToken).ConfigureAwait(false);
        }
        return result;
    }

    public override void TransactionCommitted(DbTransaction transaction, TransactionEndEventData eventData)
    {
        Wake(eventData.Context);
    }

    public override Task TransactionCommittedAsync(
        DbTransaction transaction, TransactionEndEventData eventData, CancellationToken cancellationToken = default)
    {
        Wake(eventData.Context);
        return Task.CompletedTask;
    }

    private static IReadOnlyList<PendingCall> CallsOf(TransactionEventData eventData)
    {
        PendingItems? pending = eventData.Context == null ? null : PendingItems.Find(eventData.Context);
        return pending == null || pending.IsEmpty
            ? Array.Empty<PendingCall>()
            : pending.CallsFor(eventData.TransactionId, MayRepeat(eventData.Context!));
    }

    /// <summary>Strategies that repeat are of this class; while one is at work, others say that they do not.</summary>
    private static bool MayRepeat(DbContext context)
    {
        return context.Database.CreateExecutionStrategy() is ExecutionStrategy;
    }

    private static void Wake(DbContext? context)
    {
        PendingItems? pending = context == null ? null : PendingItems.Find(context);
        if (pending == null)
        {
            return;
        }
        IReadOnlyCollection<string> queues = pending.Committed();
        if (queues.Count == 0)
        {
            return;
        }
        IDbContextOptions options = context!.GetService<IDbContextOptions>();
        Action<string>? wake = options.FindExtension<ReadpastOptionsExtension>()?.Wake;
        IServiceProvider? host = options.FindExtension<CoreOptionsExtension>()?.ApplicationServiceProvider;
        foreach (string queue in queues)
        {
            foreach (Delegate each in wake?.GetInvocationList() ?? [])
            {
                Wake(context!, () => ((Action<string>)each)(queue));
            }
            Wake(context!, () => host?.GetService<IQueueWaker>()?.Wake(queue));
        }
    }

    /// <summary>The commit is made, and no waking makes it fail: workers look by themselves soon.</summary>
    private static void Wake(DbContext context, Action wake)
    {
        try
        {
            wake();
        }
        catch (Exception exception)
        {
            context.GetService<ILoggerFactory>().CreateLogger("Readpast.EntityFrameworkCore")
                .LogWarning(exception, "The workers of a queue were not woken after a commit");
        }
    }
}
