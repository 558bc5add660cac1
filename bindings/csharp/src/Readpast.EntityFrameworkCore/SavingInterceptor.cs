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
        if (MustCommit(context))
        {
            try
            {
                context.Database.CreateExecutionStrategy().Execute(() =>
                {
                    using IDbContextTransaction transaction = context.Database.BeginTransaction();
                    transaction.Commit();
                });
            }
            catch (QueueException exception) when (IsOfItems(exception))
            {
                PendingItems.Of(context).Refused();
                throw;
            }
        }
        return result;
    }

    public override async ValueTask<InterceptionResult<int>> SavingChangesAsync(
        DbContextEventData eventData, InterceptionResult<int> result, CancellationToken cancellationToken = default)
    {
        DbContext context = eventData.Context!;
        if (MustCommit(context))
        {
            try
            {
                await context.Database.CreateExecutionStrategy().ExecuteAsync(async () =>
                {
                    await using IDbContextTransaction transaction =
                        await context.Database.BeginTransactionAsync(cancellationToken).ConfigureAwait(false);
                    await transaction.CommitAsync(cancellationToken).ConfigureAwait(false);
                }).ConfigureAwait(false);
            }
            catch (QueueException exception) when (IsOfItems(exception))
            {
                PendingItems.Of(context).Refused();
                throw;
            }
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
                PendingItems.Of(context).Written(call);
            }
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
                PendingItems.Of(context).Written(call);
            }
        }
        return result;
    }

    public override void SaveChangesFailed(DbContextErrorEventData eventData)
    {
        Fail(eventData.Context!);
    }

    public override Task SaveChangesFailedAsync(
        DbContextErrorEventData eventData, CancellationToken cancellationToken = default)
    {
        Fail(eventData.Context!);
        return Task.CompletedTask;
    }

    public override void SaveChangesCanceled(DbContextEventData eventData)
    {
        Fail(eventData.Context!);
    }

    public override Task SaveChangesCanceledAsync(
        DbContextEventData eventData, CancellationToken cancellationToken = default)
    {
        Fail(eventData.Context!);
        return Task.CompletedTask;
    }

    /// <summary>Whether the items are all there is to save, which EF Core would begin no transaction for.</summary>
    private static bool MustCommit(DbContext context)
    {
        PendingItems? pending = PendingItems.Find(context);
        pending?.ForgetCleared(context);
        if (pending == null || pending.IsEmpty || context.Database.CurrentTransaction != null)
        {
            return false;
        }
        if (Transaction.Current != null)
        {
            throw new NotSupportedException(
                "items are enqueued with the commit of EF Core's own transaction, not within a TransactionScope");
        }
        if (!context.ChangeTracker.HasChanges())
        {
            return true;
        }
        // A single statement would do without one, and its items would wait for another commit.
        pending.Before ??= context.Database.AutoTransactionBehavior;
        context.Database.AutoTransactionBehavior = AutoTransactionBehavior.Always;
        return false;
    }

    /// <summary>Whether another try with the same items is refused as well.</summary>
    private static bool IsOfItems(QueueException exception)
    {
        return exception.Status is Status.InvalidItem or Status.InvalidArgument;
    }

    private static void Fail(DbContext context)
    {
        Restore(context);
        PendingItems.Find(context)?.Failed(context);
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
