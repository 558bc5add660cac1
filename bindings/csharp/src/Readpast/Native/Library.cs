using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>The native library: that it is there, and that it is the one this assembly was made for.</summary>
    internal static class Library
    {
        /// <summary>
        /// As every runtime looks for it: libreadpast.so on Linux, libreadpast.dll on Windows, where readpast.dll would
        /// be this assembly's own name; by its own rules for places (.NET: beside the assembly and in runtimes/).
        /// </summary>
        internal const string Name = "libreadpast";

        /// <summary>READPAST_ABI of the header that this assembly was written against.</summary>
        internal const int Abi = 1;

        /// <summary>READPAST_LOG_TEXT_ROOM.</summary>
        private const int LogTextRoom = 2200;

        private static readonly Lazy<Exception> Problem = new Lazy<Exception>(Look);

        /// <summary>To be called before the first call of any other kind.</summary>
        internal static void Check()
        {
            if (Problem.Value != null)
            {
                throw Problem.Value;
            }
        }

        internal static string Version
        {
            get
            {
                Check();
                return Utf8.Read(readpast_version());
            }
        }

        /// <summary>READPAST_EMPTY for <see cref="Status.Empty"/>.</summary>
        internal static string NameOf(int status)
        {
            Check();
            return Utf8.Read(readpast_status_name(status));
        }

        /// <summary>An error as a line of the log has it: of a long one the beginning and the end.</summary>
        internal static unsafe string LogText(string error)
        {
            byte[] given = new byte[(3 * error.Length) + 1];
            byte[] brief = new byte[LogTextRoom];
            fixed (byte* from = given)
            fixed (byte* to = brief)
            {
                int length = Utf8.WriteAny(error, from, given.Length);
                UIntPtr written = readpast_log_text(from, (UIntPtr)length, to, (UIntPtr)LogTextRoom);
                return Utf8.Read(to, (int)written);
            }
        }

        private static Exception Look()
        {
            try
            {
                int abi = readpast_abi();
                return abi == Abi
                    ? null
                    : new DllNotFoundException(
                        "libreadpast " + Utf8.Read(readpast_version()) + " has the binary interface " + abi +
                        "; this assembly needs " + Abi + ". Install the library and the assembly of one version.");
            }
            catch (DllNotFoundException missing)
            {
                return new DllNotFoundException(HowToFind(), missing);
            }
        }

        private static string HowToFind()
        {
            if (Environment.OSVersion.Platform == PlatformID.Win32NT)
            {
                return
                    "libreadpast.dll cannot be loaded. Let it lie beside Readpast.dll, or beside the program; in " +
                    "the package it is runtimes/win-x64/native/libreadpast.dll, for 64-bit processes.";
            }
            if (IsBesideAssembly())
            {
                return
                    "libreadpast.so is here, and a library that it needs cannot be loaded. It needs unixODBC: on " +
                    "Debian and Ubuntu install the package libodbc2 (unixodbc), on others unixODBC.";
            }
            return
                "there is no library for " + Platform() + " where the loader looks. The package has those for " +
                "linux-x64 (with glibc) and win-x64; for others compile libreadpast.so on such a machine " +
                "(.ci/stage.sh in a clone), and put it beside Readpast.dll or set LD_LIBRARY_PATH. It needs unixODBC.";
        }

        private static bool IsBesideAssembly()
        {
            string native = Path.Combine("runtimes", "linux-x64", "native");
            string here = AppContext.BaseDirectory;
            return File.Exists(Path.Combine(here, "libreadpast.so")) ||
                (RuntimeInformation.ProcessArchitecture == Architecture.X64 &&
                File.Exists(Path.Combine(here, native, "libreadpast.so")));
        }

        /// <summary>As NuGet names it: linux-x64, linux-musl-arm64.</summary>
        private static string Platform()
        {
#if NET
            return RuntimeInformation.RuntimeIdentifier;
#else
            return "linux-" + RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();
#endif
        }

        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_abi();

        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_version();

        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_status_name(int status);

        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]
        private static extern unsafe UIntPtr readpast_log_text(byte* error, UIntPtr length, byte* text, UIntPtr room);
    }
}
