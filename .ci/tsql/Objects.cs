using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>Binds statements that make, change, drop and grant objects, and texts that name one.</summary>
sealed partial class Binder
{
    // Tables and indexes

    public override void ExplicitVisit(CreateTableStatement s)
    {
        Known(s.SchemaObjectName);
        CheckTable(s.Definition);
    }

    public override void ExplicitVisit(CreateTypeTableStatement s) => CheckTable(s.Definition);

    public override void ExplicitVisit(AlterTableAddTableElementStatement s) =>
        CheckTable(s.Definition, Known(s.SchemaObjectName));

    /// <summary>Binds a definition to its own columns, or to all those of the table, if it adds to one.</summary>
    void CheckTable(TableDefinition definition, Table table = null)
    {
        var columns = table?.Columns ?? catalog.Columns(definition);
        var own = new Source(table?.Name ?? "the table", columns, table);
        foreach (var twice in definition.ColumnDefinitions
            .GroupBy(column => column.ColumnIdentifier.Value, StringComparer.OrdinalIgnoreCase))
            if (twice.Count() > 1) Report(twice.Last(), "twice", $"{twice.Key} is a column twice");
        scopes.Push(new List<Source> { own });
        foreach (var column in definition.ColumnDefinitions)
        {
            column.DataType?.Accept(this);
            column.ComputedColumnExpression?.Accept(this);
            column.DefaultConstraint?.Expression.Accept(this);
            foreach (var constraint in column.Constraints) CheckConstraint(own, constraint, column.ColumnIdentifier);
            if (column.Index != null) CheckColumns(own, column.Index.Columns);
        }
        foreach (var constraint in definition.TableConstraints) CheckConstraint(own, constraint, null);
        foreach (var index in definition.Indexes)
        {
            CheckColumns(own, index.Columns);
            index.FilterPredicate?.Accept(this);
        }
        scopes.Pop();
    }

    void CheckColumns(Source table, IEnumerable<ColumnWithSortOrder> columns) =>
        Targets(table, columns.Select(column => column.Column));

    void CheckColumns(TSqlFragment at, Source table, IEnumerable<Identifier> columns)
    {
        foreach (var name in columns) CheckColumn(at, table, name.Value);
    }

    void CheckColumn(TSqlFragment at, Source table, string name)
    {
        if (table?.Columns == null) return;
        var column = table.Columns.FirstOrDefault(other => Catalog.Same(other.Name, name));
        if (column == null) Report(at, "column", $"{name} is not in {table.Alias}");
        else CheckCase(at, name, column.Name);
    }

    void CheckConstraint(Source own, ConstraintDefinition constraint, Identifier column)
    {
        if (constraint is UniqueConstraintDefinition unique) CheckColumns(own, unique.Columns);
        else if (constraint is CheckConstraintDefinition check) check.CheckCondition.Accept(this);
        else if (constraint is DefaultConstraintDefinition value)
        {
            value.Expression.Accept(this);
            if (value.Column != null) CheckColumn(value, own, value.Column.Value);
        }
        else if (constraint is ForeignKeyConstraintDefinition key)
        {
            CheckColumns(key, own, key.Columns);
            var other = Known(key.ReferenceTableName);
            if (other != null) CheckColumns(key, new Source(other.Name, other.Columns), key.ReferencedTableColumns);
            int count = column == null ? key.Columns.Count : 1;
            if (key.ReferencedTableColumns.Count > 0) Count(key, count, key.ReferencedTableColumns.Count);
        }
    }

    public override void ExplicitVisit(CreateIndexStatement s)
    {
        var table = Known(s.OnName);
        if (table == null) return;
        var own = new Source(table.Name, table.Columns, table);
        scopes.Push(new List<Source> { own });
        CheckColumns(own, s.Columns);
        Targets(own, s.IncludeColumns);
        s.FilterPredicate?.Accept(this);
        scopes.Pop();
    }

    public override void ExplicitVisit(AlterTableAlterColumnStatement s)
    {
        var table = Known(s.SchemaObjectName);
        if (table != null) CheckColumn(s, new Source(table.Name, table.Columns), s.ColumnIdentifier.Value);
        s.DataType?.Accept(this);
    }

    public override void ExplicitVisit(AlterTableSetStatement s) => Known(s.SchemaObjectName);

    public override void ExplicitVisit(AlterTableDropTableElementStatement s)
    {
        var table = Known(s.SchemaObjectName);
        foreach (var element in s.AlterTableDropTableElements.Where(_ => table != null))
            if (element.TableElementType == TableElementType.Column) CheckColumn(element,
                new Source(table.Name, table.Columns), element.Name.Value);
            else if (!table.Constraints.Contains(element.Name.Value)) Report(element, "constraint",
                $"{element.Name.Value} is no constraint of {table.Name}");
    }

    // Views, functions, triggers

    /// <summary>The columns of a view, a function that is a query, or a table that a query makes.</summary>
    public List<Column> Columns(TSqlFragment definition)
    {
        if (definition is ViewStatementBody view) return AsTable(view, Columns(view.SelectStatement), view.Columns);
        if (definition is SelectStatement into)
            return Columns(into)?.Select(column => new Column(column.Name, column.Kind)).ToList();
        var function = (FunctionStatementBody)definition;
        foreach (var parameter in function.Parameters) parameter.Accept(this);
        return AsTable(function, Columns(((SelectFunctionReturnType)function.ReturnType).SelectStatement),
            new List<Identifier>());
    }

    List<Column> Columns(SelectStatement select)
    {
        List<Column> columns = null;
        With(select, () => columns = Bind(select.QueryExpression));
        return columns;
    }

    void View(ViewStatementBody s) => Columns(s);

    public override void ExplicitVisit(CreateViewStatement s) => View(s);
    public override void ExplicitVisit(AlterViewStatement s) => View(s);
    public override void ExplicitVisit(CreateOrAlterViewStatement s) => View(s);

    void Function(FunctionStatementBody s, Action children)
    {
        if (s.ReturnType is SelectFunctionReturnType) Columns(s);
        else children();
    }

    public override void ExplicitVisit(CreateFunctionStatement s) => Function(s, () => base.ExplicitVisit(s));
    public override void ExplicitVisit(AlterFunctionStatement s) => Function(s, () => base.ExplicitVisit(s));
    public override void ExplicitVisit(CreateOrAlterFunctionStatement s) => Function(s, () => base.ExplicitVisit(s));

    void Trigger(TriggerStatementBody s)
    {
        changed = s.TriggerObject?.Name == null ? null : Known(s.TriggerObject.Name);
        s.StatementList.Accept(this);
        changed = null;
    }

    public override void ExplicitVisit(CreateTriggerStatement s) => Trigger(s);
    public override void ExplicitVisit(CreateOrAlterTriggerStatement s) => Trigger(s);

    // Dropped objects: a name that is none drops nothing, without an error.

    void Dropped(TSqlFragment at, string kind, string key, IEnumerable<string> known)
    {
        if (!known.Contains(key, StringComparer.OrdinalIgnoreCase)) Report(at, "drop", $"there is no {kind} {key}");
        else CheckCase(at, key, known.First(other => Catalog.Same(other, key)));
    }

    void Dropped(DropObjectsStatement s, string kind, IEnumerable<string> known)
    {
        foreach (var name in s.Objects) Dropped(name, kind, Catalog.Key(name), known);
    }

    public override void ExplicitVisit(DropTableStatement s) => Dropped(s, "table", catalog.Tables.Keys);
    public override void ExplicitVisit(DropViewStatement s) => Dropped(s, "view", catalog.Tables.Keys);
    public override void ExplicitVisit(DropProcedureStatement s) => Dropped(s, "procedure", catalog.Routines.Keys);
    public override void ExplicitVisit(DropFunctionStatement s) => Dropped(s, "function", catalog.Routines.Keys);
    public override void ExplicitVisit(DropSequenceStatement s) => Dropped(s, "sequence", catalog.Sequences.Keys);
    public override void ExplicitVisit(DropTypeStatement s) =>
        Dropped(s, "type", Catalog.Key(s.Name), catalog.Types.Keys.Concat(catalog.TableTypes.Keys));
    public override void ExplicitVisit(DropSchemaStatement s) =>
        Dropped(s, "schema", s.Schema.BaseIdentifier.Value, catalog.Schemas.Keys);
    public override void ExplicitVisit(DropRoleStatement s) => Dropped(s, "role", s.Name.Value, catalog.Roles.Keys);

    public override void ExplicitVisit(DropIndexStatement s)
    {
        foreach (var clause in s.DropIndexClauses.OfType<DropIndexClause>())
            if (Known(clause.Object) is Table table) Dropped(clause, "index", clause.Index.Value, table.Indexes);
    }

    // Rights

    void Security(SecurityStatement s)
    {
        foreach (var principal in s.Principals.Where(principal => principal.Identifier != null))
            if (!catalog.Roles.TryGetValue(principal.Identifier.Value, out var role)) Report(principal, "role",
                $"{principal.Identifier.Value} is not there");
            else CheckCase(principal, principal.Identifier.Value, role);
        var of = s.SecurityTargetObject;
        if (of == null) return;
        var key = Catalog.Key(of.ObjectName.MultiPartIdentifier);
        var names = of.ObjectName.MultiPartIdentifier;
        if (of.ObjectKind == SecurityObjectKind.Schema) Dropped(s, "schema", names[names.Count - 1].Value,
            catalog.Schemas.Keys);
        else if (of.ObjectKind == SecurityObjectKind.Type) Dropped(s, "type", key, catalog.Types.Keys
            .Concat(catalog.TableTypes.Keys));
        else if (of.ObjectKind == SecurityObjectKind.NotSpecified
            || of.ObjectKind == SecurityObjectKind.Object) Rights(s, key);
    }

    void Rights(SecurityStatement s, string key)
    {
        catalog.Tables.TryGetValue(key, out var table);
        catalog.Routines.TryGetValue(key, out var routine);
        bool isSequence = catalog.Sequences.ContainsKey(key);
        if (table == null && routine == null && !isSequence) Report(s, "grant", $"there is no {key}");
        var names = s.SecurityTargetObject.ObjectName.MultiPartIdentifier.Identifiers;
        var name = names.Last().Value;
        if (table != null || routine != null) CheckCase(s, name, table?.Name ?? routine.Name);
        if (names.Count > 1) CheckSchema(s, names[names.Count - 2].Value);
        foreach (var permission in s.Permissions)
        {
            var right = string.Join(" ", permission.Identifiers.Select(word => word.Value)).ToUpperInvariant();
            bool isOfRows = new[] { "SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES" }.Contains(right);
            bool hasRows = table != null || routine?.IsTable == true;
            bool isWrong = isOfRows && !hasRows && !(isSequence && right == "UPDATE") || right == "EXECUTE"
                && (routine == null || routine.IsTable);
            if (isWrong) Report(s, "grant", $"{right} is no right on {key}");
            if (table != null) CheckColumns(s, new Source(table.Name, table.Columns), permission.Columns
                .Concat(s.SecurityTargetObject.Columns));
        }
    }

    public override void ExplicitVisit(GrantStatement s) => Security(s);
    public override void ExplicitVisit(DenyStatement s) => Security(s);
    public override void ExplicitVisit(RevokeStatement s) => Security(s);

    public override void ExplicitVisit(AlterRoleStatement s) => Dropped(s, "role", s.Name.Value, catalog.Roles.Keys);

    // Texts that name an object

    static List<string> Parts(string name)
    {
        var parts = new List<string> { "" };
        bool isQuoted = false;
        for (int at = 0; at < name.Length; at++)
        {
            bool isDoubled = isQuoted && name[at] == ']' && at + 1 < name.Length && name[at + 1] == ']';
            if (isDoubled) at++;
            else if (name[at] == '[' && !isQuoted && parts.Last() == "" || name[at] == ']' && isQuoted)
            {
                isQuoted = !isQuoted;
                continue;
            }
            else if (name[at] == '.' && !isQuoted)
            {
                parts.Add("");
                continue;
            }
            parts[parts.Count - 1] += name[at];
        }
        return parts;
    }

    static string KeyOf(string name)
    {
        var parts = Parts(name);
        return parts.Count == 1 ? $"dbo.{parts[0]}" : $"{parts[parts.Count - 2]}.{parts[parts.Count - 1]}";
    }

    void CheckLiteral(FunctionCall f, string name)
    {
        if (!(f.Parameters.FirstOrDefault() is StringLiteral text)) return;
        var key = KeyOf(text.Value);
        if (Catalog.Same(name, "TYPE_ID")) Dropped(f, "type", key, catalog.Types.Keys.Concat(catalog.TableTypes.Keys));
        else if (Catalog.Same(name, "DATABASE_PRINCIPAL_ID")) Dropped(f, "role", text.Value, catalog.Roles.Keys);
        else if (Catalog.Same(name, "SCHEMA_ID")) Dropped(f, "schema", text.Value, catalog.Schemas.Keys);
        else if (Catalog.Same(name, "COL_LENGTH"))
        {
            CheckSchema(f, key.Split('.')[0]);
            if (!catalog.Tables.TryGetValue(key, out var table)) Report(f, "table", $"{key} is not there");
            else if (f.Parameters[1] is StringLiteral column) CheckColumn(f, new Source(table.Name, table.Columns),
                column.Value);
        }
        else if (Catalog.Same(name, "OBJECT_ID"))
        {
            var type = (f.Parameters.ElementAtOrDefault(1) as StringLiteral)?.Value;
            var constraints = catalog.Tables.SelectMany(table => table.Value.Constraints
                .Select(own => $"{table.Key.Split('.')[0]}.{own}"));
            var all = type == "U" || type == "V" ? catalog.Tables.Keys
                : type == "P" || type == "FN" || type == "IF" || type == "TF" ? catalog.Routines.Keys
                : type == "SO" ? catalog.Sequences.Keys
                : catalog.Tables.Keys.Concat(catalog.Routines.Keys).Concat(catalog.Sequences.Keys).Concat(constraints);
            Dropped(f, "object", key, all);
        }
    }
}
