using System;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;

namespace Readpast.Hosting;

/// <summary>Reads the work that items carry.</summary>
internal static class Work<T>
{
    internal static ScopedHandler By<THandler>(JsonTypeInfo<T> json, string? column)
        where THandler : class, IHandler<T>
    {
        JsonTypeInfo<T> form = column == null ? ColumnsJson.Of(json) : json;
        return (services, item, cancellation) =>
        {
            T? work;
            try
            {
                work = JsonSerializer.Deserialize(Text(item, column), form);
            }
            catch (JsonException exception)
            {
                // No other attempt reads it either. The message may quote a value, which may be secret.
                return Failed(item, FormattableString.Invariant(
                    $"it cannot be read at {exception.Path ?? "$"}, byte {exception.BytePositionInLine}"));
            }
            return work == null
                ? Failed(item, "it is null")
                : services.GetRequiredService<THandler>().HandleAsync(work, item, cancellation);
        };
    }

    private static string Text(Item item, string? column)
    {
        return column == null ? item.ToJson() : item.GetString(column) ?? "null";
    }

    private static Task<Settlement?> Failed(Item item, string why)
    {
        return Task.FromResult<Settlement?>(item.Fail($"the item carries no {typeof(T).Name}: {why}"));
    }
}
