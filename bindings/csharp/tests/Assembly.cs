using Xunit;

// Tests count threads and figures of the process, and hold up its thread pool.
[assembly: Xunit.v3.Parallelization(Mode = Xunit.Sdk.ParallelMode.None)]
