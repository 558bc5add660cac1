#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using Xunit;

namespace Readpast.Tests;

/// <summary>Errors on connections of the caller's have the statuses that the library gives them.</summary>
public class DbErrorsTests
{
    /// <summary>The kinds that are the caller's matter where the item, a right or the schema is at fault.</summary>
    private static readonly Status[] Ours = { Status.InvalidItem, Status.PermissionDenied, Status.SchemaMismatch };

    /// <summary>The library asks the catalog before, and reports these by their cause.</summary>
    private static readonly Dictionary<string, Status?> Others = new()
    {
        { "42883", Status.UnknownQueue }, { "3F000", Status.UnknownQueue }, { "2812", Status.UnknownQueue },
        { "50005", Status.Deadlock },
    };

    [Fact]
    public void PostgresStatesAreClassifiedAsTheCoreDoes()
    {
        List<(string Code, string Kind)> core = CoreHas("postgres.rs", "\"([0-9A-Z]{5})\"");
        Assert.True(core.Count > 30, "only " + core.Count);
        foreach ((string code, string kind) in core)
        {
            Assert.Equal((code, Expected(code, kind)), (code, DbErrors.OfPostgres(code)));
        }
        Assert.Equal(Status.InvalidItem, DbErrors.OfPostgres("22001"));
    }

    [Fact]
    public void SqlServersNumbersAreClassifiedAsTheCoreDoes()
    {
        List<(string Code, string Kind)> core = CoreHas("sql_server/errors.rs", @"(?<![\w""])([0-9]{2,5})(?![\w""])");
        Assert.True(core.Count > 60, "only " + core.Count);
        foreach ((string code, string kind) in core)
        {
            int number = int.Parse(code, CultureInfo.InvariantCulture);
            Assert.Equal((code, Expected(code, kind)), (code, DbErrors.OfSqlServer(number)));
        }
    }

    private static Status? Expected(string code, string kind)
    {
        if (Others.TryGetValue(code, out Status? other))
        {
            return other;
        }
        return Enum.TryParse(kind, out Status status) && Ours.Contains(status) ? status : null;
    }

    /// <summary>The codes of the core's table, each with its kind, from its source.</summary>
    private static List<(string Code, string Kind)> CoreHas(string file, string code)
    {
        string header = Environment.GetEnvironmentVariable("READPAST_HEADER")!;
        string source = File.ReadAllText(
            Path.Combine(Path.GetDirectoryName(header)!, "..", "src", "dialect", file));
        string table = source.Substring(source.IndexOf("fn classify", StringComparison.Ordinal));
        table = Regex.Replace(table.Split("\n}")[0], "//.*", string.Empty);
        var found = new List<(string, string)>();
        foreach (Match arm in Regex.Matches(table, @"([^{}]+?)=> (?:\{\s*)?(?:ErrorKind::(\w+)|\w+\()"))
        {
            found.AddRange(Regex.Matches(arm.Groups[1].Value, code)
                .Select(match => (match.Groups[1].Value, arm.Groups[2].Value)));
        }
        return found;
    }
}
