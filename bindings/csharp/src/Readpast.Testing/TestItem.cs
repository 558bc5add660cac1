using System.Collections.Generic;
using System.Linq;

namespace Readpast.Testing;

/// <summary>Items that no queue handed out, for the test of a handler.</summary>
public static class TestItem
{
    /// <summary>An item with these values, as the description of its queue types them.</summary>
    /// <param name="description">The queue's description, JSON or TOML.</param>
    /// <param name="columns">Values by column.</param>
    /// <returns>The item, at its first attempt.</returns>
    /// <exception cref="QueueException">A value is of another type than its column.</exception>
    public static Item Of(string description, params (string Column, object? Value)[] columns)
    {
        return Of(description, 1, columns);
    }

    /// <summary>An item at a later attempt.</summary>
    /// <param name="description">The queue's description, JSON or TOML.</param>
    /// <param name="attempt">Which attempt it is.</param>
    /// <param name="columns">Values by column.</param>
    /// <returns>The item.</returns>
    /// <exception cref="QueueException">A value is of another type than its column.</exception>
    public static Item Of(string description, int attempt, params (string Column, object? Value)[] columns)
    {
        var values = columns.Select(each => new KeyValuePair<string, object?>(each.Column, each.Value));
        return Batch.ItemOf(values!, attempt, description);
    }
}
