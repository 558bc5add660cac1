#nullable enable
using System;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Readpast.Hosting;

namespace Readpast.Tests.Hosting;

/// <summary>Hosts on the tests' database.</summary>
internal static class TestHost
{
    internal static IHost Build(Action<IServiceCollection> add)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Services.AddLogging(logging => logging.SetMinimumLevel(LogLevel.Information));
        builder.Services.AddReadpast(UseTestDatabase);
        add(builder.Services);
        return builder.Build();
    }

    internal static void UseTestDatabase(ReadpastOptions options)
    {
        foreach (var setting in TestQueue.Options)
        {
            if (setting.Key == "connection")
            {
                options.Connection = setting.Value;
            }
            else
            {
                options.Settings[setting.Key] = setting.Value;
            }
        }
    }

    internal static HostedQueue QueueOf(IHost host, string name)
    {
        return host.Services.GetRequiredKeyedService<HostedQueue>(name);
    }
}
