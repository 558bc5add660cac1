using System;
using System.Collections.Generic;
using Microsoft.EntityFrameworkCore.Diagnostics;
using Microsoft.EntityFrameworkCore.Infrastructure;
using Microsoft.Extensions.DependencyInjection;

namespace Readpast.EntityFrameworkCore;

/// <summary>
/// Gives each context its pending items, which one that goes back to its pool forgets, and the interceptors that
/// enqueue them: once, however often the options were set.
/// </summary>
internal sealed class ReadpastOptionsExtension(Action<string>? wake) : IDbContextOptionsExtension
{
    /// <summary>Called with a queue's name after the commit, or null.</summary>
    internal Action<string>? Wake { get; } = wake;

    public DbContextOptionsExtensionInfo Info => new ExtensionInfo(this);

    public void ApplyServices(IServiceCollection services)
    {
        services.AddScoped<PendingItems>();
        services.AddScoped<IInterceptor, SavingInterceptor>();
        services.AddScoped<IInterceptor, CommitInterceptor>();
        services.AddScoped<IResettableService>(provider => provider.GetRequiredService<PendingItems>());
    }

    public void Validate(IDbContextOptions options)
    {
    }

    private sealed class ExtensionInfo(IDbContextOptionsExtension extension) : DbContextOptionsExtensionInfo(extension)
    {
        public override bool IsDatabaseProvider => false;

        public override string LogFragment => "readpast ";

        public override int GetServiceProviderHashCode()
        {
            return 0;
        }

        public override bool ShouldUseSameServiceProvider(DbContextOptionsExtensionInfo other)
        {
            return other is ExtensionInfo;
        }

        public override void PopulateDebugInfo(IDictionary<string, string> debugInfo)
        {
            debugInfo["readpast"] = "1";
        }
    }
}
