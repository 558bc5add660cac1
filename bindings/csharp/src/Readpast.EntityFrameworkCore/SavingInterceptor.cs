using System;
using System.Data.Common;
using System.Threading;
using System.Threading.Tasks;
using System.Transactions;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.Diagnostics;
using Microsoft.EntityFrameworkCore.Storage;

namespace Readpast.EntityFrameworkCore;

/// <summary>
/// Sees to it that SaveChanges has a transaction where items are pending. In one of the program's own they go at once:
/// it may commit without EF Core.
/// </summary>
internal sealed class SavingInterceptor : SaveChangesInterceptor
{
    public override InterceptionResult<int> SavingChanges(DbContextEventData eventData, InterceptionResult<int> result)
    {
        DbContext context = eventData.Context!;
        if (NeedsTransaction(context) && !context.ChangeTracker.HasChanges())
        {
            context.Database.CreateExecutionStrategy().Execute(() =>
            {
                using IDbContextTransaction transaction = context.Database.BeginTransaction();
                transaction.Commit();
            });
        }
        return result;
    }

    public override async ValueTask<InterceptionResult<int>> SavingChangesAsync(
        DbContextEventData eventData, InterceptionResult<int> result, CancellationToken cancellationToken = default)
    {
        DbContext context = eventData.Context!;
        if (NeedsTransaction(context) && !context.ChangeTracker.HasChanges())
        {
            await context.Database.CreateExecutionStrategy().ExecuteAsync(async () =>
            {
                await using IDbContextTransaction transaction =
                    await context.Database.BeginTransactionAsync(cancellationToken).ConfigureAwait(false);
                await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
            }).ConfigureAwait(false);
        }
        return result;
    }

    public override int SavedChanges(SaveChangesCompletedEventData eventData, int result)
    {
        DbContext context = eventData.Context!;
        Restore(context);
        if (context.Database.CurrentTransaction is IDbContextTransaction current && !PendingItems.Of(context).IsEmpty)
        {
            DbTransaction transaction = current.GetDbTransaction();
            foreach (PendingCall call in PendingItems.Of(context).CallsFor(current.TransactionId, false))
            {
                transaction.Connection!.Enqueue(call.Queue, call.Items, transaction);
            }
            PendingItems.Of(context).Written();
        }
        return result;
    }

    public override async ValueTask<int> SavedChangesAsync(
        SaveChangesCompletedEventData eventData, int result, CancellationToken cancellationToken = default)
    {
        DbContext context = eventData.Context!;
        Restore(context);
        if (context.Database.CurrentTransaction is IDbContextTransaction current && !PendingItems.Of(context).IsEmpty)
        {
            DbTransaction transaction = current.GetDbTransaction();
            foreach (PendingCall call in PendingItems.Of(context).CallsFor(current.TransactionId, false))
            {
                await transaction.Connection!.EnqueueAsync(
                    call.Queue, call.Items, transaction, null, cancellationToken).ConfigureAwait(false);
            }
            PendingItems.Of(context).Written();
        }
        return result;
    }

    public override void SaveChangesFailed(DbContextErrorEventData eventData)
    {
        Restore(eventData.Context!);
    }

    public override Task SaveChangesFailedAsync(
        DbContextErrorEventData eventData, CancellationToken cancellationToken = default)
    {
        Restore(eventData.Context!);
        return Task.CompletedTask;
    }

    /// <summary>A single statement would do without one, and its items would wait for another commit.</summary>
    private static bool NeedsTransaction(DbContext context)
    {
        PendingItems? pending = PendingItems.Find(context);
        if (pending == null || pending.IsEmpty || context.Database.CurrentTransaction != null)
        {
            return false;
        }
        if (Transaction.Current != null)
        {
            throw new NotSupportedException(
                "items are enqueued with the commit of EF Core's own transaction, not within a TransactionScope");
        }
        pending.Before ??= context.Database.AutoTransactionBehavior;
        context.Database.AutoTransactionBehavior = AutoTransactionBehavior.Always;
        return true;
    }

    private static void Restore(DbContext context)
    {
        PendingItems? pending = PendingItems.Find(context);
        if (pending?.Before is AutoTransactionBehavior before)
        {
            context.Database.AutoTransactionBehavior = before;
            pending.Before = null;
        }
    }
}
