// Makes an assembly that mcs compiled one of .NET Standard 2.0: its references to mscorlib, System and System.Core
// become references to netstandard. Without the .NET SDK there are no reference assemblies of .NET Standard to compile
// against; but Mono's netstandard.dll, made for running such assemblies, names every type of the standard, and it is an
// error if the assembly uses another one. (It names those of 2.1 too; what was compiled against .NET Framework 4.6.1
// cannot use them.) Members are not looked up.
//
//   Retarget.exe in.dll netstandard.dll out.dll
using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;

internal static class Retarget
{
    private static int Main(string[] arguments)
    {
        if (arguments.Length != 3)
        {
            Console.Error.WriteLine("usage: Retarget.exe in.dll netstandard.dll out.dll");
            return 2;
        }
        using (AssemblyDefinition facade = AssemblyDefinition.ReadAssembly(arguments[1]))
        using (AssemblyDefinition assembly = AssemblyDefinition.ReadAssembly(arguments[0]))
        {
            var standard = new HashSet<string>(facade.MainModule.ExportedTypes.Select(type => type.FullName));
            ModuleDefinition module = assembly.MainModule;
            List<TypeReference> used =
                module.GetTypeReferences().Where(type => type.Scope is AssemblyNameReference).ToList();
            List<TypeReference> foreign = used.Where(type => !standard.Contains(type.FullName)).ToList();
            foreach (TypeReference type in foreign)
            {
                Console.Error.WriteLine(type.FullName + " is no type of .NET Standard 2.0");
            }
            if (foreign.Count > 0)
            {
                return 1;
            }

            AssemblyNameReference target = AssemblyNameReference.Parse(facade.Name.FullName);
            target.Version = new Version(2, 0, 0, 0);
            // A nested type has no scope of its own: it follows its outer type.
            foreach (TypeReference type in used.Where(type => !type.IsNested))
            {
                type.Scope = target;
            }
            module.AssemblyReferences.Clear();
            module.AssemblyReferences.Add(target);
            assembly.Write(arguments[2]);
            return 0;
        }
    }
}
