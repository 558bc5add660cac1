#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;

namespace Readpast.Tests;

/// <summary>A process of its own that runs one of the explicit tests.</summary>
internal static class Child
{
    /// <summary>Starts it, with settings that .NET reads at its start, and variables of its environment.</summary>
    internal static Process Start(string test, string? setting, params (string Name, string Value)[] variables)
    {
        string program = Path.Combine(AppContext.BaseDirectory, "Readpast.Tests");
        var arguments = new List<string> { "exec" };
        if (setting != null)
        {
            const string Settings = "\"configProperties\": {";
            string changed = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName() + ".runtimeconfig.json");
            string text = File.ReadAllText(program + ".runtimeconfig.json");
            File.WriteAllText(changed, text.Replace(Settings, Settings + "\"" + setting + "\": true,"));
            arguments.AddRange(["--runtimeconfig", changed, "--depsfile", program + ".deps.json"]);
        }
        arguments.AddRange([program + ".dll", "-explicit", "only", "-method", "Readpast.Tests." + test]);
        var start = new ProcessStartInfo("dotnet", arguments) { RedirectStandardOutput = true };
        foreach ((string name, string value) in variables)
        {
            start.Environment[name] = value;
        }
        return Process.Start(start)!;
    }
}
