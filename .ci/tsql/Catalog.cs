using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>A column of a table, a view, or a query's result.</summary>
sealed class Column
{
    public readonly string Name, Kind;
    /// <summary>An INSERT has to give it a value.</summary>
    public readonly bool IsRequired;
    /// <summary>The server gives it its value: an identity, or a computed column.</summary>
    public readonly bool IsMade;

    public Column(string name, string kind = null, bool isRequired = false, bool isMade = false)
    {
        Name = name;
        Kind = kind;
        IsRequired = isRequired;
        IsMade = isMade;
    }
}

/// <summary>A table, a view, a type of tables. No columns: they are not known.</summary>
sealed class Table
{
    public readonly string Name;
    public List<Column> Columns;
    public readonly HashSet<string> Indexes = new HashSet<string>(StringComparer.Ordinal);
    public readonly HashSet<string> Constraints = new HashSet<string>(StringComparer.Ordinal);

    public Table(string name, List<Column> columns)
    {
        Name = name;
        Columns = columns;
    }
}

/// <summary>A procedure or a function; its columns, if it answers as a table.</summary>
sealed class Routine
{
    public readonly string Name;
    public readonly IList<ProcedureParameter> Parameters;
    public readonly bool IsProcedure, IsTable;
    public List<Column> Columns;

    public Routine(string name, IList<ProcedureParameter> parameters, bool isProcedure, bool isTable)
    {
        Name = name;
        Parameters = parameters;
        IsProcedure = isProcedure;
        IsTable = isTable;
    }
}

/// <summary>
/// All objects of a database, by schema and name. Names are found in any case; the binder reports another case.
/// </summary>
sealed class Catalog
{
    public readonly Dictionary<string, Table> Tables = Names<Table>(), TableTypes = Names<Table>();
    public readonly Dictionary<string, Routine> Routines = Names<Routine>();
    /// <summary>Alias types, and the kind of each.</summary>
    public readonly Dictionary<string, string> Types = Names<string>();
    public readonly Dictionary<string, string> Sequences = Names<string>();
    public readonly Dictionary<string, string> Roles = Names<string>();
    public readonly Dictionary<string, string> Schemas = Names<string>();

    readonly HashSet<string> there = new HashSet<string>(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// Tables and types of tables that stand before the scripts run. A script that would create one under a condition
    /// changes nothing in it.
    /// </summary>
    public bool IsThere(string key) => there.Contains(key);

    public void CloseThere() => there.UnionWith(Tables.Keys.Concat(TableTypes.Keys));

    public Catalog()
    {
        Schemas["dbo"] = "dbo";
        foreach (var role in new[] { "public", "db_owner", "db_datareader", "db_datawriter", "dbo" })
            Roles[role] = role;
    }

    static readonly string[] numbers =
    {
        "bigint", "int", "smallint", "tinyint", "bit", "decimal", "numeric", "float", "real", "money", "smallmoney",
    };

    static readonly string[] times = { "date", "datetime2", "datetimeoffset", "time" };

    static Dictionary<string, T> Names<T>() => new Dictionary<string, T>(StringComparer.OrdinalIgnoreCase);

    public static bool Same(string one, string other) => string.Equals(one, other, StringComparison.OrdinalIgnoreCase);

    public static string Key(SchemaObjectName name) =>
        name.BaseIdentifier.Value.StartsWith("#") ? name.BaseIdentifier.Value
        : $"{name.SchemaIdentifier?.Value ?? "dbo"}.{name.BaseIdentifier.Value}";

    public static string Key(MultiPartIdentifier name) => name.Count == 1 ? "dbo." + name[0].Value
        : name[name.Count - 2].Value + "." + name[name.Count - 1].Value;

    /// <summary>The kind of a type: those of different kinds are not compared or assigned.</summary>
    public string Kind(DataTypeReference type)
    {
        if (type is UserDataTypeReference user) return Types.TryGetValue(Key(user.Name), out var kind) ? kind : null;
        if (!(type is SqlDataTypeReference own)) return null;
        var name = own.SqlDataTypeOption.ToString().ToLowerInvariant();
        if (numbers.Contains(name)) return "number";
        if (times.Contains(name)) return "time";
        return name == "uniqueidentifier" ? name : null;
    }

    public List<Column> Columns(TableDefinition definition) => definition.ColumnDefinitions.Select(column =>
    {
        bool isMade = column.IdentityOptions != null || column.ComputedColumnExpression != null
            || column.DataType is SqlDataTypeReference type && type.SqlDataTypeOption == SqlDataTypeOption.Rowversion;
        bool isSet = column.Constraints.OfType<NullableConstraintDefinition>().Any(constraint => !constraint.Nullable)
            || column.Constraints.OfType<UniqueConstraintDefinition>().Any(constraint => constraint.IsPrimaryKey);
        bool isRequired = isSet && !isMade && column.DefaultConstraint == null
            && !column.Constraints.OfType<DefaultConstraintDefinition>().Any();
        return new Column(column.ColumnIdentifier.Value, Kind(column.DataType), isRequired, isMade);
    }).ToList();
}
