using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>INSERT, UPDATE, DELETE.</summary>
sealed partial class Binder
{
    void Count(TSqlFragment at, int given, int wanted)
    {
        if (given != wanted) Report(at, "count", $"{given} values for {wanted} columns");
    }

    static Identifier Last(ColumnReferenceExpression column) => column.MultiPartIdentifier?.Identifiers.Last();

    /// <summary>Columns that a statement writes; returns those that it knows, null for each other.</summary>
    List<Column> Targets(Source target, IEnumerable<ColumnReferenceExpression> columns)
    {
        var known = new List<Column>();
        foreach (var column in columns)
        {
            var name = Last(column);
            var own = target.Columns?.FirstOrDefault(other => Catalog.Same(other.Name, name?.Value));
            if (target.Columns != null && name != null && own == null) Report(column, "column",
                $"{name.Value} is not in {target.Alias}");
            if (own != null) CheckCase(column, name.Value, own.Name);
            if (own != null && known.Contains(own)) Report(column, "twice", $"{own.Name} gets two values");
            known.Add(own);
        }
        return known;
    }

    void Assign(TSqlFragment at, IList<Column> targets, IList<Column> values)
    {
        Count(at, values.Count, targets.Count);
        for (int place = 0; place < Math.Min(targets.Count, values.Count); place++) Clash(at, targets[place]?.Kind,
            values[place]?.Kind);
    }

    void Output(DataModificationSpecification s, Source target, List<Source> beside)
    {
        s.TopRowFilter?.Accept(this);
        var scope = new List<Source> { new Source("inserted", target.Columns), new Source("deleted", target.Columns) };
        scope.AddRange(beside);
        scopes.Push(scope);
        if (s.OutputClause != null) Selected(s.OutputClause.SelectColumns, scope);
        if (s.OutputIntoClause is OutputIntoClause into)
        {
            var values = Selected(into.SelectColumns, scope);
            var table = Resolve(into.IntoTable);
            var targets = into.IntoTableColumns.Count > 0 ? Targets(table, into.IntoTableColumns) : table.Columns;
            if (targets != null && values != null) Assign(into, targets, values);
        }
        scopes.Pop();
    }

    void Set(Source target, IEnumerable<SetClause> clauses)
    {
        var assignments = clauses.OfType<AssignmentSetClause>().ToList();
        Targets(target, assignments.Where(clause => clause.Column != null).Select(clause => clause.Column));
        foreach (var clause in assignments)
        {
            if (clause.Variable != null) Find(clause, clause.Variable.Name);
            clause.NewValue?.Accept(this);
            if (clause.Column == null) continue;
            var column = target.Columns?.FirstOrDefault(other => Catalog.Same(other.Name, Last(clause.Column)?.Value));
            Clash(clause, column?.Kind, Kind(clause.NewValue));
            if (column?.IsMade == true) Report(clause, "made", $"the server itself gives {column.Name} its value");
        }
        foreach (var clause in clauses.OfType<FunctionCallSetClause>()) clause.AcceptChildren(this);
    }

    void UpdateOrDelete(UpdateDeleteSpecificationBase s, IEnumerable<SetClause> clauses)
    {
        var scope = new List<Source>();
        scopes.Push(scope);
        foreach (var table in s.FromClause?.TableReferences ?? new List<TableReference>()) From(table, scope, false);
        var alias = s.Target is NamedTableReference named && named.SchemaObject.SchemaIdentifier == null
            ? named.SchemaObject.BaseIdentifier.Value : null;
        var target = scope.FirstOrDefault(source => alias != null && Catalog.Same(source.Alias, alias));
        if (target != null) CheckCase(s.Target, alias, target.Alias);
        target = target ?? Resolve(s.Target);
        if (s.FromClause == null) scope.Add(target);
        Set(target, clauses);
        s.WhereClause?.Accept(this);
        Output(s, target, scope.Where(source => source != target).ToList());
        scopes.Pop();
    }

    public override void ExplicitVisit(UpdateStatement s) => With(s, () =>
    {
        UpdateOrDelete(s.UpdateSpecification, s.UpdateSpecification.SetClauses);
        foreach (var hint in s.OptimizerHints) hint.Accept(this);
    });

    public override void ExplicitVisit(DeleteStatement s) => With(s, () =>
    {
        UpdateOrDelete(s.DeleteSpecification, new List<SetClause>());
        foreach (var hint in s.OptimizerHints) hint.Accept(this);
    });

    public override void ExplicitVisit(InsertStatement s) => With(s, () =>
    {
        var insert = s.InsertSpecification;
        var target = Resolve(insert.Target);
        var known = target.Columns ?? new List<Column>();
        var targets = insert.Columns.Count > 0 ? Targets(target, insert.Columns)
            : target.Columns?.Where(column => !column.IsMade).ToList();
        if (insert.Columns.Count > 0)
            foreach (var missing in known.Where(column => column.IsRequired && !targets.Contains(column)))
                Report(insert, "null", $"{missing.Name} of {target.Alias} needs a value");
        foreach (var column in known.Where(column => column.IsMade && targets.Contains(column)))
            Report(insert, "made", $"the server itself gives {column.Name} its value");
        if (insert.InsertSource is ValuesInsertSource rows)
            foreach (var row in rows.RowValues)
            {
                row.Accept(this);
                var values = row.ColumnValues.Select(value => new Column(null, Kind(value))).ToList();
                if (targets != null) Assign(row, targets, values);
            }
        else if (insert.InsertSource is SelectInsertSource select)
        {
            var values = Bind(select.Select);
            if (values != null && targets != null) Assign(select, targets, values);
        }
        else insert.InsertSource.Accept(this);
        Output(insert, target, new List<Source>());
        foreach (var hint in s.OptimizerHints) hint.Accept(this);
    });
}
