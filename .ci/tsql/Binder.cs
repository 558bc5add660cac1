using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>A table in a FROM clause, under its name there. No columns: they are not known.</summary>
sealed class Source
{
    public readonly string Alias;
    public readonly List<Column> Columns;
    public readonly Table Table;

    public Source(string alias, List<Column> columns, Table table = null)
    {
        Alias = alias;
        Columns = columns;
        Table = table;
    }
}

/// <summary>
/// Resolves each name of a batch as the server does when it compiles and runs it, and counts values and arguments.
/// The other files of this class: Queries, Changes, Calls, Objects.
/// </summary>
sealed partial class Binder : TSqlFragmentVisitor
{
    readonly Catalog catalog;
    readonly Server server;
    readonly Batch batch;
    /// <summary>Null while only the columns of a view are asked for.</summary>
    readonly List<Finding> found;
    readonly Dictionary<string, Variable> variables = new Dictionary<string,
        Variable>(StringComparer.OrdinalIgnoreCase);
    /// <summary>Those of a statement, and of the statements that it is part of: the innermost first.</summary>
    readonly Stack<List<Source>> scopes = new Stack<List<Source>>();
    readonly Stack<Dictionary<string, List<Column>>> ctes = new Stack<Dictionary<string, List<Column>>>();
    /// <summary>
    /// A batch of the library's own has values for its marks; a module, and a text that a batch executes, has none.
    /// </summary>
    bool hasMarks;
    /// <summary>inserted and deleted have its columns: the table of a trigger.</summary>
    Table changed;

    sealed class Variable
    {
        public string Name, Kind;
        public TSqlFragment DeclaredAt;
        public bool IsUsed;
        /// <summary>The columns of a table variable.</summary>
        public Table Table;
    }

    public Binder(Catalog catalog, Server server, Batch batch, List<Finding> found, bool isWithin = false)
    {
        hasMarks = !isWithin;
        this.catalog = catalog;
        this.server = server;
        this.batch = batch;
        this.found = found;
        ctes.Push(new Dictionary<string, List<Column>>(StringComparer.OrdinalIgnoreCase));
    }

    /// <summary>Reports all faults of the batch.</summary>
    public void Check()
    {
        if (!(Grammar.Tree(batch.Text) is TSqlFragment tree)) return;
        var words = new Words();
        tree.Accept(words);
        hasMarks = hasMarks && !words.IsModule;
        tree.Accept(this);
        CheckUnused();
        words.Check(catalog, Report);
    }

    void Report(TSqlFragment at, string code, string message) =>
        found?.Add(new Finding(batch.File, batch.Before + at.StartLine, code, message));

    /// <summary>Reports a name in another case: where the collation distinguishes cases it is another name.</summary>
    void CheckCase(TSqlFragment at, string given, string real)
    {
        if (given != real && Catalog.Same(given, real)) Report(at, "case", $"{given} is called {real}");
    }

    void CheckSchema(TSqlFragment at, string given)
    {
        if (catalog.Schemas.TryGetValue(given, out var real)) CheckCase(at, given, real);
    }

    public void ReportGroup(ColumnReferenceExpression column) =>
        Report(column, "group",
            $"{column.MultiPartIdentifier.Identifiers.Last().Value} is neither grouped by nor in an aggregate");

    // Variables

    void Declare(TSqlFragment at, string name, DataTypeReference type, Table table = null)
    {
        if (variables.ContainsKey(name)) Report(at, "variable", $"{name} is declared twice");
        if (type is UserDataTypeReference user && catalog.TableTypes.TryGetValue(Catalog.Key(user.Name),
            out var own)) table = own;
        variables[name] = new Variable
        {
            Name = name,
            Kind = type == null ? null : catalog.Kind(type),
            Table = table,
            DeclaredAt = at,
            // A caller may have to give what a queue of another kind needs.
            IsUsed = at is ProcedureParameter,
        };
    }

    /// <summary>Variables that the library's own queries have for the values they are given.</summary>
    public static readonly Regex Marks = new Regex("^@p[0-9]+$");

    Variable Find(TSqlFragment at, string name)
    {
        if (variables.TryGetValue(name, out var variable))
        {
            variable.IsUsed = true;
            CheckCase(at, name, variable.Name);
        }
        else if (!hasMarks || !Marks.IsMatch(name)) Report(at, "variable", $"{name} is not declared");
        return variable;
    }

    /// <summary>Variables that the batch declares and does nothing with.</summary>
    void CheckUnused()
    {
        foreach (var variable in variables.Values.Where(variable => !variable.IsUsed))
            Report(variable.DeclaredAt, "unused", $"{variable.Name} is declared and not used");
    }

    public override void ExplicitVisit(ProcedureParameter p)
    {
        Declare(p, p.VariableName.Value, p.DataType);
        p.DataType.Accept(this);
        p.Value?.Accept(this);
    }

    public override void ExplicitVisit(DeclareVariableElement d)
    {
        // Its value may not name it.
        d.DataType.Accept(this);
        d.Value?.Accept(this);
        Declare(d, d.VariableName.Value, d.DataType);
        // A variable may be there to lock a row without a result.
        if (d.Value != null && Tokens(d.Value).Contains("UPDLOCK")) variables[d.VariableName.Value].IsUsed = true;
        Clash(d, catalog.Kind(d.DataType), Kind(d.Value));
    }

    static IEnumerable<string> Tokens(TSqlFragment fragment) => fragment.ScriptTokenStream
        .Skip(fragment.FirstTokenIndex).Take(fragment.LastTokenIndex - fragment.FirstTokenIndex + 1)
        .Select(token => token.Text);

    public override void ExplicitVisit(DeclareTableVariableBody d)
    {
        var name = d.VariableName?.Value;
        if (name != null) Declare(d, name, null, new Table(name, catalog.Columns(d.Definition)));
        CheckTable(d.Definition);
    }

    public override void ExplicitVisit(VariableReference v)
    {
        if (Find(v, v.Name)?.Table != null) Report(v, "variable", $"{v.Name} is a table");
    }

    public override void ExplicitVisit(GlobalVariableExpression v)
    {
        if (!Server.Variables.Contains(v.Name)) Report(v, "variable", $"{v.Name} is none of the server's");
    }

    public override void ExplicitVisit(SetVariableStatement s)
    {
        Find(s, s.Variable.Name);
        s.Expression?.Accept(this);
        Clash(s, variables.TryGetValue(s.Variable.Name, out var variable) ? variable.Kind : null, Kind(s.Expression));
    }

    // Types

    public override void ExplicitVisit(UserDataTypeReference t)
    {
        var key = Catalog.Key(t.Name);
        if (t.Name.SchemaIdentifier == null && Catalog.Same(t.Name.BaseIdentifier.Value, "sysname")) return;
        if (!catalog.Types.ContainsKey(key) && !catalog.TableTypes.ContainsKey(key)) Report(t, "type",
            $"{key} is not there");
        else CheckCase(t, key, catalog.Types.Keys.Concat(catalog.TableTypes.Keys)
            .First(other => Catalog.Same(other, key)));
    }

    string Kind(ScalarExpression e)
    {
        if (e is IntegerLiteral || e is NumericLiteral) return "number";
        if (e is VariableReference v) return variables.TryGetValue(v.Name, out var variable) ? variable.Kind : null;
        if (e is ColumnReferenceExpression c) return Find(c, false)?.Kind;
        if (e is CastCall cast) return catalog.Kind(cast.DataType);
        if (e is ParenthesisExpression p) return Kind(p.Expression);
        return null;
    }

    /// <summary>The server refuses one as the other.</summary>
    void Clash(TSqlFragment at, string one, string other)
    {
        if (one != null && other != null && one != other) Report(at, "kind", $"{one} and {other} do not go together");
    }

    public override void ExplicitVisit(BooleanComparisonExpression c)
    {
        c.FirstExpression.Accept(this);
        c.SecondExpression.Accept(this);
        Clash(c, Kind(c.FirstExpression), Kind(c.SecondExpression));
    }

    // Columns

    public override void ExplicitVisit(ColumnReferenceExpression c) => Find(c, true);

    Column Find(ColumnReferenceExpression c, bool report)
    {
        if (c.ColumnType != ColumnType.Regular) return null;
        var parts = c.MultiPartIdentifier.Identifiers;
        var name = parts[parts.Count - 1].Value;
        var qualifier = parts.Count > 1 ? parts[parts.Count - 2].Value : null;
        foreach (var scope in scopes)
        {
            var fit = scope.Where(source => qualifier == null || Catalog.Same(source.Alias, qualifier)).ToList();
            if (qualifier != null && fit.Count == 0) continue;
            var having = fit.Where(source => source.Columns?.Any(column => Catalog.Same(column.Name, name)) == true)
                .ToList();
            if (report && having.Count > 1)
                Report(c, "ambiguous",
                    $"{name} is a column of {string.Join(" and ", having.Select(source => source.Alias))}");
            if (having.Count > 0)
            {
                var column = having[0].Columns.First(other => Catalog.Same(other.Name, name));
                if (report) CheckCase(c, name, column.Name);
                if (report && qualifier != null) CheckCase(c, qualifier, having[0].Alias);
                return column;
            }
            if (fit.Any(source => source.Columns == null)) return null;
            if (qualifier != null) break;
        }
        if (report) Report(c, "column", $"{string.Join(".", parts.Select(part => part.Value))} is not there");
        return null;
    }
}
