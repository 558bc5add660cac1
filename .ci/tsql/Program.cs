using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

/// <summary>
/// Reads rendered T-SQL by all of Microsoft's grammars, and binds its names without a server.
///
///   tsql DATA FOLDER...                       binds the databases of the FOLDERs
///   tsql DATA --planted FILE                  has the binder find the faults of FILE, and none beside them
///   tsql DATA --mutants COUNT SEED FOLDER...  misspells COUNT names, one after the other, and counts those it finds
///
/// DATA holds functions.txt and its like. A FOLDER is a database: the scripts *.sql in it see each other's objects, and
/// those of *.there, which stand before and are not checked.
///
/// Prints FILE:LINE: CODE: MESSAGE of each fault, and ends with 1 if there was one.
/// </summary>
static class Program
{
    static int Main(string[] arguments)
    {
        var server = new Server(arguments[0]);
        var rest = arguments.Skip(1).ToList();
        if (rest[0] == "--planted") return Planted.Run(server, rest[1]);
        try
        {
            return rest[0] == "--mutants"
                ? Mutants.Run(server, int.Parse(rest[1]), int.Parse(rest[2]), rest.Skip(3).ToList())
                : Check(server, rest);
        }
        catch (InvalidDataException empty)
        {
            Console.WriteLine(empty.Message);
            return 1;
        }
    }

    static int Check(Server server, List<string> folders)
    {
        var databases = folders.Select(folder => new Database(folder)).ToList();
        var batches = databases.SelectMany(database => database.Batches).ToList();
        var distinct = batches.GroupBy(batch => batch.Text).Select(same => same.First()).ToList();
        var found = distinct.AsParallel().SelectMany(Grammar.Errors).ToList();
        found.AddRange(databases.AsParallel().SelectMany(database => database.Bind(server)));
        found.AddRange(server.Unused());
        foreach (var finding in found.GroupBy(finding => finding.ToString()).Select(same => same.First())
            .OrderBy(finding => finding.File, StringComparer.Ordinal).ThenBy(finding => finding.Line))
            Console.WriteLine(finding);
        var grammars = string.Join(", ", Grammar.All);
        Console.WriteLine($"{batches.Count} batches of {databases.Count} databases, {distinct.Count} of them "
            + $"different, by the grammars {grammars}: {found.Count} faults");
        return found.Count == 0 ? 0 : 1;
    }
}
