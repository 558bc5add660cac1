using System;
using System.Diagnostics;
using System.Threading;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Waits for what other threads do. How long it takes proves nothing; that it never comes does.</summary>
    internal static class Until
    {
        internal static readonly TimeSpan Patience = TimeSpan.FromMinutes(10);

        internal static void True(Func<bool> condition)
        {
            Stopwatch clock = Stopwatch.StartNew();
            while (!condition())
            {
                Assert.True(clock.Elapsed < Patience, "it never came true");
                Thread.Sleep(5);
            }
        }

        internal static void Ended(Thread thread)
        {
            Assert.True(thread.Join(Patience), "the thread never ended");
        }
    }
}
