using System;
using System.Threading;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Keeps the thread pool to a thread for each processor.</summary>
    internal sealed class SmallPool : IDisposable
    {
        private readonly (int Threads, int Ports) least;
        private readonly (int Threads, int Ports) most;

        internal SmallPool()
        {
            ThreadPool.GetMinThreads(out least.Threads, out least.Ports);
            ThreadPool.GetMaxThreads(out most.Threads, out most.Ports);
            Assert.True(ThreadPool.SetMinThreads(1, least.Ports));
            Assert.True(ThreadPool.SetMaxThreads(Environment.ProcessorCount, most.Ports));
        }

        public void Dispose()
        {
            ThreadPool.SetMaxThreads(most.Threads, most.Ports);
            ThreadPool.SetMinThreads(least.Threads, least.Ports);
        }
    }
}
