using System;
using System.Threading;
using System.Threading.Tasks;
using System.Transactions;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.Diagnostics;
using Microsoft.EntityFrameworkCore.Storage;

namespace Readpast.EntityFrameworkCore;

/// <summary>Sees to it that SaveChanges has a transaction where items are pending.</summary>
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
        Restore(eventData.Context!);
        return result;
    }

    public override ValueTask<int> SavedChangesAsync(
        SaveChangesCompletedEventData eventData, int result, CancellationToken cancellationToken = default)
    {
        Restore(eventData.Context!);
        return ValueTask.FromResult(result);
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
