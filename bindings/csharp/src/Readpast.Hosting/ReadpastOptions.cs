using System.Collections.Generic;

namespace Readpast.Hosting;

/// <summary>The database of a queue, and the settings that it is opened with.</summary>
public sealed class ReadpastOptions
{
    /// <summary>An ODBC connection string, with the driver in it.</summary>
    public string? Connection { get; set; }

    /// <summary>The library's settings by their keys, such as <c>lease.ms</c>.</summary>
    public IDictionary<string, string> Settings { get; } = new Dictionary<string, string>();

    internal QueueOptions ToQueueOptions()
    {
        var options = new QueueOptions(Connection);
        foreach ((string key, string value) in Settings)
        {
            options[key] = value;
        }
        return options;
    }
}
