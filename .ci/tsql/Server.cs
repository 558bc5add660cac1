using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;

/// <summary>
/// All that the server itself has: functions.txt, procedures.txt and views.txt, which lie beside this file.
/// </summary>
sealed class Server
{
    public const int Oldest = 2017;

    public sealed class Function
    {
        public int Least, Most, Since;
    }

    public readonly Dictionary<string, Function> Functions = new Dictionary<string,
        Function>(StringComparer.OrdinalIgnoreCase);
    /// <summary>Parameters by name, of procedures.</summary>
    readonly Dictionary<string, List<string>> procedures = new Dictionary<string,
        List<string>>(StringComparer.OrdinalIgnoreCase);
    /// <summary>Catalog views, by schema and name.</summary>
    readonly Dictionary<string, Table> views = new Dictionary<string, Table>(StringComparer.OrdinalIgnoreCase);
    readonly ConcurrentDictionary<string, bool> asked = new ConcurrentDictionary<string,
        bool>(StringComparer.OrdinalIgnoreCase);

    public static readonly HashSet<string> Variables = Words(
        "@@CONNECTIONS @@DATEFIRST @@DBTS @@ERROR @@FETCH_STATUS @@IDENTITY @@LANGID @@LANGUAGE @@LOCK_TIMEOUT " +
        "@@MAX_PRECISION @@NESTLEVEL @@OPTIONS @@PROCID @@ROWCOUNT @@SERVERNAME @@SERVICENAME @@SPID @@TEXTSIZE " +
        "@@TRANCOUNT @@VERSION");

    public static readonly HashSet<string> DateParts = Words(
        "YEAR YY YYYY QUARTER QQ Q MONTH MM M DAYOFYEAR DY Y DAY DD D WEEK WK WW WEEKDAY DW HOUR HH MINUTE MI N " +
        "SECOND SS S MILLISECOND MS MICROSECOND MCS NANOSECOND NS TZOFFSET TZ ISO_WEEK ISOWK ISOWW");

    /// <summary>Functions whose first argument is a part of a date.</summary>
    public static readonly HashSet<string> OfDateParts =
        Words("DATEADD DATEDIFF DATEDIFF_BIG DATENAME DATEPART DATETRUNC DATE_BUCKET");

    /// <summary>Functions of many rows, unless they have an OVER.</summary>
    public static readonly HashSet<string> Aggregates = Words(
        "APPROX_COUNT_DISTINCT AVG CHECKSUM_AGG COUNT COUNT_BIG MAX MIN STDEV STRING_AGG SUM VAR " +
        "JSON_ARRAYAGG JSON_OBJECTAGG PRODUCT");

    public Server(string folder)
    {
        foreach (var words in Lines(folder, "functions.txt"))
            Functions[words[0]] = new Function
            {
                Least = int.Parse(words[1]),
                Most = int.Parse(words[2]),
                Since = words.Length > 3 ? int.Parse(words[3]) : Oldest,
            };
        foreach (var words in Lines(folder, "procedures.txt")) procedures[words[0]] = words.Skip(1).ToList();
        foreach (var words in Lines(folder, "views.txt"))
            views[words[0]] = new Table(words[0], words.Skip(1).Select(name => new Column(name)).ToList());
    }

    /// <summary>The parameters of a procedure of the server, or null.</summary>
    public List<string> Procedure(string name) => Asked(procedures, name);

    /// <summary>A catalog view, or null.</summary>
    public Table View(string name) => Asked(views, name);

    T Asked<T>(Dictionary<string, T> of, string name) where T : class
    {
        if (!of.TryGetValue(name, out var found)) return null;
        asked[name] = true;
        return found;
    }

    /// <summary>Entries of procedures.txt and views.txt that no script has named so far.</summary>
    public IEnumerable<Finding> Unused() =>
        procedures.Keys.Where(name => !asked.ContainsKey(name)).Select(name => Unused("procedures.txt", name))
            .Concat(views.Keys.Where(name => !asked.ContainsKey(name)).Select(name => Unused("views.txt", name)));

    static Finding Unused(string file, string name) => new Finding(file, 1, "unused", $"no script names {name}");

    static HashSet<string> Words(string words) => new HashSet<string>(words.Split(' '),
        StringComparer.OrdinalIgnoreCase);

    /// <summary>A line that begins with a space goes on with the one before it.</summary>
    static IEnumerable<string[]> Lines(string folder, string name)
    {
        var text = File.ReadAllText(Path.Combine(folder, name)).Replace("\r", "");
        var lines = text.Split('\n').Where(line => line.Length > 0 && line[0] != '#');
        var joined = string.Join("\n", lines).Replace("\n ", " ");
        return joined.Split('\n').Select(line => line.Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries));
    }
}
