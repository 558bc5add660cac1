using System;
using System.Diagnostics.CodeAnalysis;
using System.Text.Json.Serialization.Metadata;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace Readpast.Hosting;

/// <summary>The handlers of a hosted worker, and what stands around them.</summary>
public sealed class ReadpastWorkerBuilder
{
    internal ReadpastWorkerBuilder(IServiceCollection services, string queue)
    {
        Services = services;
        Handling = new Handling(queue);
    }

    /// <summary>The services of the host.</summary>
    public IServiceCollection Services { get; }

    internal Handling Handling { get; }

    /// <summary>A handler for all items whose type has none of its own.</summary>
    /// <typeparam name="THandler">The handler; scoped, unless it is registered otherwise.</typeparam>
    /// <returns>This.</returns>
    public ReadpastWorkerBuilder Handle<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>()
        where THandler : class, IItemHandler
    {
        Services.TryAddScoped<THandler>();
        Handling.Others = (services, item, cancellation) =>
            services.GetRequiredService<THandler>().HandleAsync(item, cancellation);
        return this;
    }

    /// <summary>A handler for the items of one type.</summary>
    /// <typeparam name="T">The work that they carry.</typeparam>
    /// <typeparam name="THandler">The handler; scoped, unless it is registered otherwise.</typeparam>
    /// <param name="json">How the work is read, of a <c>JsonSerializerContext</c>.</param>
    /// <param name="column">The column that holds it; null: the properties are columns.</param>
    /// <param name="type">The type of the items; null: the name of <typeparamref name="T"/>.</param>
    /// <returns>This.</returns>
    public ReadpastWorkerBuilder Handle<
        T, [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        JsonTypeInfo<T> json, string? column = null, string? type = null)
        where THandler : class, IHandler<T>
    {
        Services.TryAddScoped<THandler>();
        Handling.Add(type ?? typeof(T).Name, Work<T>.By<THandler>(json, column));
        return this;
    }

    /// <summary>A handler for all items whose type has none of its own, which carry work of one kind.</summary>
    /// <typeparam name="T">The work that they carry.</typeparam>
    /// <typeparam name="THandler">The handler; scoped, unless it is registered otherwise.</typeparam>
    /// <param name="json">How the work is read, of a <c>JsonSerializerContext</c>.</param>
    /// <param name="column">The column that holds it; null: the properties are columns.</param>
    /// <returns>This.</returns>
    public ReadpastWorkerBuilder HandleAll<
        T, [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        JsonTypeInfo<T> json, string? column = null)
        where THandler : class, IHandler<T>
    {
        Services.TryAddScoped<THandler>();
        Handling.Others = Work<T>.By<THandler>(json, column);
        return this;
    }

    /// <summary>Something around each item's handling; the first that is added is the outermost.</summary>
    /// <typeparam name="TMiddleware">Its class; scoped, unless it is registered otherwise.</typeparam>
    /// <returns>This.</returns>
    public ReadpastWorkerBuilder Use<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TMiddleware>()
        where TMiddleware : class, IItemMiddleware
    {
        Services.TryAddScoped<TMiddleware>();
        Handling.Around.Add(services => services.GetRequiredService<TMiddleware>());
        return this;
    }
}
