using Readpast.Native;

namespace Readpast
{
    /// <summary>The native library.</summary>
    public static class NativeLibrary
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
    }
}
