using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>Fills a catalog from what batches create, wherever in them it stands.</summary>
sealed class Declarer : TSqlFragmentVisitor
{
    readonly Catalog catalog;
    /// <summary>Views, functions and tables whose columns a query gives, in the order of the text.</summary>
    public readonly List<TSqlFragment> Queries = new List<TSqlFragment>();

    public Declarer(Catalog catalog)
    {
        this.catalog = catalog;
    }

    public override void Visit(CreateSchemaStatement s) => catalog.Schemas[s.Name.Value] = s.Name.Value;
    public override void Visit(CreateRoleStatement s) => catalog.Roles[s.Name.Value] = s.Name.Value;
    public override void Visit(CreateUserStatement s) => catalog.Roles[s.Name.Value] = s.Name.Value;
    public override void Visit(CreateSequenceStatement s) => catalog.Sequences[Catalog.Key(s.Name)] =
        s.Name.BaseIdentifier.Value;
    public override void Visit(CreateTypeUddtStatement s) => catalog.Types[Catalog.Key(s.Name)] =
        catalog.Kind(s.DataType);
    public override void Visit(CreateTypeTableStatement s)
    {
        var key = Catalog.Key(s.Name);
        if (!catalog.IsThere(key)) catalog.TableTypes[key] =
            new Table(s.Name.BaseIdentifier.Value, catalog.Columns(s.Definition));
    }

    public override void Visit(CreateTableStatement s)
    {
        var key = Catalog.Key(s.SchemaObjectName);
        if (catalog.IsThere(key)) return;
        if (!catalog.Tables.ContainsKey(key)) catalog.Tables[key] =
            new Table(s.SchemaObjectName.BaseIdentifier.Value, new List<Column>());
        Add(catalog.Tables[key], s.Definition);
    }

    public override void Visit(AlterTableAddTableElementStatement s)
    {
        if (catalog.Tables.TryGetValue(Catalog.Key(s.SchemaObjectName), out var table)) Add(table, s.Definition);
    }

    void Add(Table table, TableDefinition definition)
    {
        table.Columns.AddRange(catalog.Columns(definition)
            .Where(column => !table.Columns.Any(other => other.Name == column.Name)));
        var constraints = definition.TableConstraints
            .Concat(definition.ColumnDefinitions.SelectMany(column => column.Constraints))
            .Concat(definition.ColumnDefinitions.Select(column => column.DefaultConstraint))
                .Where(constraint => constraint != null);
        foreach (var constraint in constraints.Where(constraint => constraint.ConstraintIdentifier != null))
        {
            table.Constraints.Add(constraint.ConstraintIdentifier.Value);
            if (constraint is UniqueConstraintDefinition) table.Indexes.Add(constraint.ConstraintIdentifier.Value);
        }
        foreach (var index in definition.Indexes.Concat(definition.ColumnDefinitions.Select(column => column.Index)))
            if (index?.Name != null) table.Indexes.Add(index.Name.Value);
    }

    public override void Visit(CreateIndexStatement s)
    {
        if (catalog.Tables.TryGetValue(Catalog.Key(s.OnName), out var table)) table.Indexes.Add(s.Name.Value);
    }

    public override void Visit(ProcedureStatementBody s)
    {
        var name = s.ProcedureReference.Name;
        catalog.Routines[Catalog.Key(name)] = new Routine(name.BaseIdentifier.Value, s.Parameters, true, false);
    }

    public override void Visit(FunctionStatementBody s)
    {
        var routine = new Routine(s.Name.BaseIdentifier.Value, s.Parameters, false,
            !(s.ReturnType is ScalarFunctionReturnType));
        catalog.Routines[Catalog.Key(s.Name)] = routine;
        if (s.ReturnType is TableValuedFunctionReturnType table)
            routine.Columns = catalog.Columns(table.DeclareTableVariableBody.Definition);
        if (s.ReturnType is SelectFunctionReturnType) Queries.Add(s);
    }

    public override void Visit(ViewStatementBody s) => Queries.Add(s);

    public override void Visit(SelectStatement s)
    {
        if (s.Into != null) Queries.Add(s);
    }

    /// <summary>A statement that is given as a text.</summary>
    public override void Visit(ExecutableStringList s)
    {
        if (Text(s) is string text) Grammar.Tree(text)?.Accept(this);
    }

    /// <summary>
    /// A view of all columns of a table, put together from the catalog: CONCAT(N'CREATE VIEW v AS SELECT ',
    /// @Columns, N' FROM t').
    /// </summary>
    public override void Visit(FunctionCall f)
    {
        var parts = f.Parameters.Select(part => (part as StringLiteral)?.Value).ToList();
        if (parts.Count != 3 || parts[1] != null || parts[0]?.StartsWith("CREATE VIEW ") != true
            || parts[2] == null) return;
        if (!(Grammar.Tree(parts[0] + "*" + parts[2]) is TSqlFragment tree)) return;
        var view = ((TSqlScript)tree).Batches[0].Statements[0] as ViewStatementBody;
        var query = view.SelectStatement.QueryExpression as QuerySpecification;
        var from = query?.FromClause.TableReferences[0] as NamedTableReference;
        if (from == null || !catalog.Tables.TryGetValue(Catalog.Key(from.SchemaObject), out var table)) return;
        catalog.Tables[Catalog.Key(view.SchemaObjectName)] =
            new Table(view.SchemaObjectName.BaseIdentifier.Value, table.Columns);
    }

    public static string Text(ExecutableStringList s)
    {
        var parts = s.Strings.OfType<StringLiteral>().Select(part => part.Value).ToList();
        return parts.Count == s.Strings.Count ? string.Concat(parts) : null;
    }
}
