using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_config, and what is done with nothing else.</summary>
    internal static class ConfigMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern Handle readpast_config_new();

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_config_set(Handle config, IntPtr key, IntPtr value, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_config_free(Handle config);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_install(Handle config, IntPtr spec, out Handle error);
    }
}
