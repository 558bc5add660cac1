using System;
using System.Collections.Generic;

namespace Conformance
{
    /// <summary>The objects by the names that the driver gave them. Any thread.</summary>
    internal static class Objects
    {
        private static readonly Dictionary<string, IDisposable> Kept = new Dictionary<string, IDisposable>();

        /// <summary>A name given again is the new object's.</summary>
        internal static void Keep(string kind, string name, IDisposable made)
        {
            IDisposable before;
            lock (Kept)
            {
                Kept.TryGetValue(kind + name, out before);
                Kept[kind + name] = made;
            }
            before?.Dispose();
        }

        internal static T Get<T>(string kind, IDictionary<string, object> request)
        {
            lock (Kept)
            {
                return (T)Kept[kind + request[kind]];
            }
        }

        internal static void FreeAll()
        {
            foreach (IDisposable each in Kept.Values)
            {
                each.Dispose();
            }
        }
    }
}
