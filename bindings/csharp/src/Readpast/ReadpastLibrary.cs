using Readpast.Native;

namespace Readpast
{
    /// <summary>The native library.</summary>
    public static class ReadpastLibrary
    {
        /// <summary>The version of libreadpast at run time: <c>0.1.0</c>.</summary>
        public static string Version
        {
            get { return Library.Version; }
        }

        /// <summary>The binary interface of libreadpast, which is the one this assembly was made for.</summary>
        public static int Abi
        {
            get
            {
                Library.Check();
                return Library.readpast_abi();
            }
        }

        /// <summary>The name of a status as readpast.h spells it: <c>READPAST_EMPTY</c>.</summary>
        /// <param name="status">A status.</param>
        /// <returns>The name; <c>READPAST_?</c> for a number that the library does not know.</returns>
        public static string NameOf(Status status)
        {
            return Library.NameOf((int)status);
        }

        /// <summary>
        /// The figures of this process's queues since it began, in Prometheus' text format (text/plain;
        /// version=0.0.4; charset=utf-8), for a page that Prometheus scrapes: claims, settlements by their outcome,
        /// retries, errors, how long calls took, connections and workers. docs/operate.md lists the names. It asks no
        /// server, and any thread may call it at any time.
        /// </summary>
        /// <returns>The text.</returns>
        public static string Metrics()
        {
            Library.Check();
            QueueException.Check(TextMethods.readpast_metrics(out Handle text, out Handle error), error);
            return TextMethods.Take(text);
        }
    }
}
