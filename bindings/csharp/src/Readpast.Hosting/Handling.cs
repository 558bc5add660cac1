using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast.Hosting;

/// <summary>A handler within the scope of its item.</summary>
internal delegate Task<Settlement?> ScopedHandler(
    IServiceProvider services, Item item, CancellationToken cancellation);

/// <summary>Chooses an item's handler by its type, and puts the middleware around it.</summary>
internal sealed class Handling
{
    private readonly Dictionary<string, ScopedHandler> byType = new(StringComparer.Ordinal);

    internal Handling(string queue)
    {
        Queue = queue;
    }

    internal string Queue { get; }

    internal ScopedHandler? Others { get; set; }

    internal List<Func<IServiceProvider, IItemMiddleware>> Around { get; } = new();

    internal bool IsEmpty => Others == null && byType.Count == 0;

    internal void Add(string type, ScopedHandler handler)
    {
        if (!byType.TryAdd(type, handler))
        {
            throw new ArgumentException($"the worker of {Queue} has a handler for the type {type} already");
        }
    }

    internal Task<Settlement?> Handle(IServiceProvider services, Item item, CancellationToken cancellation)
    {
        ItemDelegate rest = (handled, token) => Choose(services, handled, token);
        foreach (Func<IServiceProvider, IItemMiddleware> make in Enumerable.Reverse(Around))
        {
            ItemDelegate next = rest;
            rest = (handled, token) => make(services).InvokeAsync(handled, next, token);
        }
        return rest(item, cancellation);
    }

    private Task<Settlement?> Choose(IServiceProvider services, Item item, CancellationToken cancellation)
    {
        bool isTyped = HasType(item, out string? type);
        ScopedHandler? handler = type != null && byType.TryGetValue(type, out ScopedHandler? own) ? own : Others;
        if (!isTyped && handler == null && byType.Count == 1)
        {
            // A table of the user's without a column for it has one type of items.
            handler = byType.Values.Single();
        }
        if (handler != null)
        {
            return handler(services, item, cancellation);
        }
        // A newer version of the program may know it: during a roll-out both are at work.
        string known = string.Join(", ", byType.Keys.Order(StringComparer.Ordinal));
        return Task.FromResult<Settlement?>(
            item.Retry($"this worker has no handler for the type {type ?? "(none)"}; it has some for {known}"));
    }

    private static bool HasType(Item item, out string? type)
    {
        try
        {
            // Its name in readpast's own tables, by which the column is found in described ones as well.
            type = item["Type"]?.ToString();
            return true;
        }
        catch (KeyNotFoundException)
        {
            type = null;
            return false;
        }
    }
}
