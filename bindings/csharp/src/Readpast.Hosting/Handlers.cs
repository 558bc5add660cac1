using System.Threading;
using System.Threading.Tasks;

namespace Readpast.Hosting;

/// <summary>The rest of an item's handling.</summary>
/// <param name="item">The item.</param>
/// <param name="cancellation">Ends with the worker, or when the item is lost.</param>
/// <returns>How to settle it; null: it is done.</returns>
public delegate Task<Settlement?> ItemDelegate(Item item, CancellationToken cancellation);

/// <summary>Handles items. Each item has a scope of services of its own, from which its handler comes.</summary>
public interface IItemHandler
{
    /// <summary>Handles an item. An exception is recorded as its error, and the item is tried again.</summary>
    /// <param name="item">The item.</param>
    /// <param name="cancellation">Ends with the worker, or when the item is lost.</param>
    /// <returns>How to settle it; null: it is done.</returns>
    Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation);
}

/// <summary>Handles the work that items carry as JSON: in a column, or as their columns.</summary>
/// <typeparam name="T">The work.</typeparam>
public interface IHandler<in T>
{
    /// <summary>Handles an item. An exception is recorded as its error, and the item is tried again.</summary>
    /// <param name="work">The work that the item carries.</param>
    /// <param name="item">The item.</param>
    /// <param name="cancellation">Ends with the worker, or when the item is lost.</param>
    /// <returns>How to settle it; null: it is done.</returns>
    Task<Settlement?> HandleAsync(T work, Item item, CancellationToken cancellation);
}

/// <summary>Stands around the handling of each item of a worker; it comes from the item's scope.</summary>
public interface IItemMiddleware
{
    /// <summary>Calls the rest, or decides without it.</summary>
    /// <param name="item">The item.</param>
    /// <param name="next">The rest.</param>
    /// <param name="cancellation">Ends with the worker, or when the item is lost.</param>
    /// <returns>How to settle it; null: it is done.</returns>
    Task<Settlement?> InvokeAsync(Item item, ItemDelegate next, CancellationToken cancellation);
}
