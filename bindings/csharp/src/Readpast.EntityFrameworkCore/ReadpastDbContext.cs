using System;
using System.Diagnostics;
using Microsoft.EntityFrameworkCore.Infrastructure;
using Readpast;
using Readpast.EntityFrameworkCore;

namespace Microsoft.EntityFrameworkCore;

/// <summary>readpast's queues with EF Core.</summary>
public static class ReadpastDbContext
{
    /// <summary>
    /// Has contexts enqueue items in their transactions. After the commit, waiting workers of the process look at the
    /// queue at once: those of a host (<c>Readpast.Hosting</c>) by themselves. Called again, it only adds another wake.
    /// </summary>
    /// <param name="builder">The options of the context.</param>
    /// <param name="wake">Called with a queue's name after the commit, besides the host; or null.</param>
    /// <returns>The options.</returns>
    public static DbContextOptionsBuilder UseReadpast(this DbContextOptionsBuilder builder, Action<string>? wake = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        Action<string>? others = builder.Options.FindExtension<ReadpastOptionsExtension>()?.Wake;
        ((IDbContextOptionsBuilderInfrastructure)builder).AddOrUpdateExtension(
            new ReadpastOptionsExtension(others == wake ? wake : others + wake));
        return builder;
    }

    /// <summary>
    /// Enqueues an item with the next <c>SaveChanges</c>, in its transaction or in that which the program has begun.
    /// Rolled back, it was never there.
    /// </summary>
    /// <param name="context">A context whose options have <see cref="UseReadpast"/>.</param>
    /// <param name="queue">The queue; its name will do.</param>
    /// <param name="item">The item.</param>
    public static void Enqueue(this DbContext context, QueueName queue, NewItem item)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(queue);
        ArgumentNullException.ThrowIfNull(item);
        Activity? current = Activity.Current?.IdFormat == ActivityIdFormat.W3C ? Activity.Current : null;
        PendingItems.Of(context).Add(
            queue, current == null ? item.Copy() : item.InTraceOf(current).Copy(),
            context.Database.CurrentTransaction?.TransactionId);
    }
}
