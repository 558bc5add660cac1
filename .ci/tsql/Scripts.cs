using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>A fault, and its place in a file.</summary>
sealed class Finding
{
    public readonly string File, Code, Message;
    public readonly int Line;

    public Finding(string file, int line, string code, string message)
    {
        File = file;
        Line = line;
        Code = code;
        Message = message;
    }

    public override string ToString() => $"{File}:{Line}: {Code}: {Message}";
}

/// <summary>A batch of a script.</summary>
sealed class Batch
{
    public readonly string File, Text;
    /// <summary>Lines of the file before it.</summary>
    public readonly int Before;

    public Batch(string file, int before, string text)
    {
        File = file;
        Before = before;
        Text = text;
    }

    static readonly Regex Separator = new Regex(@"^GO[ \t]*\r?\n?$", RegexOptions.IgnoreCase);

    /// <summary>The batches of a file, as sqlcmd divides it.</summary>
    public static IEnumerable<Batch> Read(string path, string shown)
    {
        var lines = Lines(path);
        int start = 0;
        for (int at = 0; at <= lines.Length; at++)
        {
            if (at < lines.Length && !Separator.IsMatch(lines[at])) continue;
            var text = string.Join("\n", lines.Skip(start).Take(at - start));
            if (text.Trim().Length > 0) yield return new Batch(shown, start, text);
            start = at + 1;
        }
    }

    static string[] Lines(string path) => System.IO.File.ReadAllText(path).Split('\n');
}

/// <summary>Microsoft's grammars. A text that many scripts share is parsed once.</summary>
static class Grammar
{
    /// <summary>The oldest supported server, SQL Server 2017.</summary>
    const int Oldest = 140;

    /// <summary>Those that the library at hand has: 2017, 2019, 2022, 2025.</summary>
    public static readonly int[] All = new[] { 140, 150, 160, 170 }.Where(version => Parser(version) != null).ToArray();

    /// <summary>How a grammar reads a text: the tree, or the errors.</summary>
    sealed class Read
    {
        public TSqlFragment Tree;
        public IList<ParseError> Errors;
    }

    static readonly ConcurrentDictionary<string, Read> known = new ConcurrentDictionary<string, Read>();

    static TSqlParser Parser(int version)
    {
        var any = typeof(TSqlParser);
        var type = any.Assembly.GetType($"{any.Namespace}.TSql{version}Parser");
        return type == null ? null : (TSqlParser)Activator.CreateInstance(type, new object[] { true });
    }

    static Read Parse(int version, string text)
    {
        var tree = Parser(version).Parse(new StringReader(text), out var errors);
        return new Read { Tree = errors.Count == 0 ? tree : null, Errors = errors };
    }

    static Read ByOldest(string text) => known.GetOrAdd(text, _ => Parse(Oldest, text));

    /// <summary>The batch as the oldest server reads it; null if it does not.</summary>
    public static TSqlFragment Tree(string text) => ByOldest(text).Tree;

    /// <summary>All that a grammar does not understand.</summary>
    public static IEnumerable<Finding> Errors(Batch batch) => All.SelectMany(version =>
    {
        var errors = (version == Oldest ? ByOldest(batch.Text) : Parse(version, batch.Text)).Errors;
        return errors.Select(error =>
            new Finding(batch.File, batch.Before + error.Line, "syntax", $"TSql{version}: {error.Message}"));
    });
}
