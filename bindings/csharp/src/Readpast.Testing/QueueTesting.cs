using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Readpast.Hosting;

namespace Readpast.Testing;

/// <summary>Looks at queues on a test's database, and works them off within the test.</summary>
public static class QueueTesting
{
    /// <summary>
    /// Works on all that is due until nothing is left, and returns what became of each item. Attempts that fail come
    /// up again at once where the queue has no backoff; else they stay for later.
    /// </summary>
    /// <param name="queue">The queue.</param>
    /// <param name="handler">The handler.</param>
    /// <param name="cancellation">Ends it early.</param>
    /// <returns>The outcomes, in the order in which the database took them.</returns>
    public static async Task<IReadOnlyList<SettledItem>> DrainAsync(
        this Queue queue, Func<Item, CancellationToken, Task<Settlement?>> handler,
        CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(queue);
        ArgumentNullException.ThrowIfNull(handler);
        var settled = new ConcurrentQueue<SettledItem>();
        var worker = new QueueWorker(queue, handler!) { UntilEmpty = true };
        worker.Settled += settled.Enqueue;
        await worker.RunAsync(cancellation).ConfigureAwait(false);
        return settled.ToArray();
    }

    /// <summary>
    /// The same with the handlers of a host's worker, their scopes and their middleware. The host is not started, or
    /// its own workers would take part.
    /// </summary>
    /// <param name="host">The host.</param>
    /// <param name="queue">The queue's name.</param>
    /// <param name="cancellation">Ends it early.</param>
    /// <returns>The outcomes, in the order in which the database took them.</returns>
    public static async Task<IReadOnlyList<SettledItem>> DrainAsync(
        this IHost host, string queue, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(host);
        WorkerService worker = host.Services.GetServices<IHostedService>().OfType<WorkerService>()
            .FirstOrDefault(service => service.QueueName == queue) ??
            throw new ArgumentException("the host has no worker of the queue " + queue, nameof(queue));
        Queue opened = await host.Services.GetRequiredKeyedService<HostedQueue>(queue).OpenAsync(cancellation)
            .ConfigureAwait(false);
        return await opened.DrainAsync(worker.Handle, cancellation).ConfigureAwait(false);
    }

    /// <summary>Finds the items that wait for a worker and match; there must be one at least.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="matches">Whether an item is one of those; null: all are.</param>
    /// <param name="cancellation">Cancels the search.</param>
    /// <returns>A value for each of them that the test may look at.</returns>
    /// <exception cref="QueueAssertionException">None matches; the message has those that wait.</exception>
    public static async Task<IReadOnlyList<Item>> RequireEnqueuedAsync(
        this Queue queue, Func<Item, bool>? matches = null, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(queue);
        IReadOnlyList<Item> waiting = await Waiting(queue, cancellation).ConfigureAwait(false);
        Item[] found = waiting.Where(item => matches == null || matches(item)).ToArray();
        return found.Length > 0 ? found : throw new QueueAssertionException(
            "no item that waits in " + queue.Name + " matches; there are " + waiting.Count + ": " +
            string.Join("\n", waiting.Take(5).Select(item => item.ToJson())));
    }

    /// <summary>Makes sure that no item that waits for a worker matches.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="matches">Whether an item is one of those; null: all are.</param>
    /// <param name="cancellation">Cancels the search.</param>
    /// <returns>A task that ends when it is sure.</returns>
    /// <exception cref="QueueAssertionException">One matches.</exception>
    public static async Task RequireNotEnqueuedAsync(
        this Queue queue, Func<Item, bool>? matches = null, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(queue);
        IReadOnlyList<Item> waiting = await Waiting(queue, cancellation).ConfigureAwait(false);
        Item? found = waiting.FirstOrDefault(item => matches == null || matches(item));
        if (found != null)
        {
            throw new QueueAssertionException("an item waits in " + queue.Name + ": " + found.ToJson());
        }
    }

    private static async Task<IReadOnlyList<Item>> Waiting(Queue queue, CancellationToken cancellation)
    {
        return await queue.FindAsync("{\"status\": [\"Pending\", \"Error\"]}", null, 1000, cancellation)
            .ConfigureAwait(false);
    }
}
