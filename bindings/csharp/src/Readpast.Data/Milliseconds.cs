using System;

namespace Readpast
{
    /// <summary>Spans of time as readpast takes them.</summary>
    internal static class Milliseconds
    {
        /// <summary>Part of a millisecond counts as a whole one: a short wait is not none.</summary>
        internal static long Of(TimeSpan time)
        {
            long rest = time.Ticks % TimeSpan.TicksPerMillisecond;
            return (time.Ticks / TimeSpan.TicksPerMillisecond) + (rest > 0 ? 1 : 0);
        }
    }
}
