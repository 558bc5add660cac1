using System.Data.Common;
using System.Reflection;
using System.Runtime.InteropServices;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Errors as policies of retries see them; and where the native library is looked for.</summary>
    public class QueueExceptionTests
    {
        [Fact]
        public void PoliciesSeeWhetherAnErrorPasses()
        {
            DbException error = new QueueException("deadlock", Status.Deadlock, "40001", 1205, true, null);
            Assert.True(error.IsTransient);
            Assert.Equal("40001", error.SqlState);
            var inner = new QueueException("no", Status.InvalidItem, null, 0, false, null, error);
            Assert.Same(error, inner.InnerException);
        }

        [Fact]
        public void TheLibraryIsNotLookedForWhereAProgramWasStarted()
        {
            var places = typeof(Queue).Assembly.GetCustomAttribute<DefaultDllImportSearchPathsAttribute>();
            Assert.Equal(DllImportSearchPath.AssemblyDirectory | DllImportSearchPath.SafeDirectories, places.Paths);
        }
    }
}
