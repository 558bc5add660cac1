using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.Logging;

namespace Readpast.Hosting;

/// <summary>
/// A queue of the host: a keyed service by the queue's name. It is opened in the background from the host's start on,
/// and again while the database is away, so nothing waits for it but those who need it.
/// </summary>
public sealed class HostedQueue : IAsyncDisposable
{
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(15);

    private readonly QueueOptions options;
    private readonly ILogger logger;
    private readonly CancellationTokenSource closing = new();
    private readonly object gate = new();
    private Task<Queue>? opening;
    private volatile Exception? failure;

    internal HostedQueue(string name, QueueOptions options, ILoggerFactory loggers)
    {
        Name = name;
        this.options = options;
        logger = loggers.CreateLogger("Readpast." + name);
    }

    /// <summary>The queue's name.</summary>
    public string Name { get; }

    /// <summary>Whether it is open.</summary>
    public bool IsOpen => Opened() != null;

    /// <summary>Why it could not be opened the last time, if that does not pass by itself.</summary>
    public Exception? Failure => failure;

    /// <summary>
    /// Waits until it is open. After a failure another call tries it again: somebody may have installed the queue.
    /// </summary>
    /// <param name="cancellation">Ends the wait.</param>
    /// <returns>The queue, which the host closes.</returns>
    /// <exception cref="QueueException">It cannot be opened, for a reason that does not pass by itself.</exception>
    /// <exception cref="ObjectDisposedException">The host has closed it.</exception>
    public Task<Queue> OpenAsync(CancellationToken cancellation = default)
    {
        return Opening().WaitAsync(cancellation);
    }

    /// <summary>Enqueues an item, with the activity under way as its trace.</summary>
    /// <param name="item">The item.</param>
    /// <param name="cancellation">Cancels the call before it begins.</param>
    /// <returns>Its key, or that it was there already.</returns>
    public async Task<Receipt> EnqueueAsync(NewItem item, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(item);
        Queue queue = await OpenAsync(cancellation).ConfigureAwait(false);
        return await ReadpastTelemetry.Send(
            queue, new[] { item }, items => queue.EnqueueAsync(items[0], cancellation), receipt => receipt.Key)
            .ConfigureAwait(false);
    }

    /// <summary>Enqueues items, with the activity under way as their trace.</summary>
    /// <param name="items">The items.</param>
    /// <param name="operation">An identity for the call, by which a repetition is recognized, or null.</param>
    /// <param name="cancellation">Cancels the call before it begins.</param>
    /// <returns>A receipt for each item.</returns>
    public async Task<Answers<Receipt>> EnqueueAsync(
        IEnumerable<NewItem> items, string? operation = null, CancellationToken cancellation = default)
    {
        ArgumentNullException.ThrowIfNull(items);
        NewItem[] copied = items.ToArray();
        Queue queue = await OpenAsync(cancellation).ConfigureAwait(false);
        return await ReadpastTelemetry.Send(
            queue, copied, all => queue.EnqueueAsync(all, operation, cancellation), receipts => receipts[0].Key)
            .ConfigureAwait(false);
    }

    /// <summary>
    /// Has workers of this process look at the queue at once: after the commit of a transaction of your own.
    /// </summary>
    public void Wake()
    {
        try
        {
            Opened()?.Wake();
        }
        catch (ObjectDisposedException)
        {
            // It was closed a moment ago, and so were those who wait.
        }
    }

    /// <summary>Closes it, or ends its opening.</summary>
    /// <returns>A task that ends when it has.</returns>
    public async ValueTask DisposeAsync()
    {
        await closing.CancelAsync().ConfigureAwait(false);
        Task<Queue>? begun;
        lock (gate)
        {
            begun = opening;
        }
        if (begun == null)
        {
            return;
        }
        // Its failure was logged.
        await begun.ContinueWith(_ => { }, TaskScheduler.Default).ConfigureAwait(false);
        if (begun.IsCompletedSuccessfully)
        {
            await begun.Result.DisposeAsync().ConfigureAwait(false);
        }
    }

    internal void BeginOpening()
    {
        _ = Opening();
    }

    private Queue? Opened()
    {
        lock (gate)
        {
            return !closing.IsCancellationRequested && opening is { IsCompletedSuccessfully: true }
                ? opening.Result
                : null;
        }
    }

    private Task<Queue> Opening()
    {
        lock (gate)
        {
            ObjectDisposedException.ThrowIf(closing.IsCancellationRequested, this);
            if (opening == null || opening.IsFaulted)
            {
                // Those who wait go on apart: a caller that blocks afterwards must not keep the worker from its start.
                var opened = new TaskCompletionSource<Queue>(TaskCreationOptions.RunContinuationsAsynchronously);
                Task.Run(Open).ContinueWith(opened.SetFromTask, TaskScheduler.Default);
                opening = opened.Task;
            }
            return opening;
        }
    }

    private async Task<Queue> Open()
    {
        for (TimeSpan pause = TimeSpan.FromSeconds(1); ; pause = Longer(pause))
        {
            try
            {
                Queue queue = await Queue.OpenAsync(options, Name, closing.Token).ConfigureAwait(false);
                failure = null;
                Log.Opened(logger, Name);
                return queue;
            }
            catch (QueueException exception) when (exception.IsTransient)
            {
                Log.CannotOpenYet(logger, exception, Name, pause);
                await Task.Delay(pause, closing.Token).ConfigureAwait(false);
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                failure = exception;
                Log.CannotOpen(logger, exception, Name);
                throw;
            }
        }
    }

    private static TimeSpan Longer(TimeSpan pause)
    {
        return pause * 2 < LongestPause ? pause * 2 : LongestPause;
    }
}
