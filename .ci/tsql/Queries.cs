using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>Queries: each returns its columns, or null where they are not known.</summary>
sealed partial class Binder
{
    static List<Column> Named(List<Column> columns, IList<Identifier> names) =>
        names.Count == 0 ? columns : names.Select((name, at) =>
            new Column(name.Value, columns?.ElementAtOrDefault(at)?.Kind)).ToList();

    /// <summary>The columns of a table: each once, and each with a name.</summary>
    List<Column> AsTable(TSqlFragment at, List<Column> columns, IList<Identifier> names)
    {
        if (columns != null && names.Count > 0) Count(at, names.Count, columns.Count);
        var named = Named(columns, names);
        if (named == null) return null;
        var twice = named.Where(column => column.Name != null)
            .GroupBy(column => column.Name, StringComparer.OrdinalIgnoreCase)
            .FirstOrDefault(same => same.Count() > 1);
        if (twice != null) Report(at, "twice", $"{twice.Key} is a column twice");
        if (named.Any(column => column.Name == null)) Report(at, "unnamed", "a column has no name");
        return named;
    }

    public List<Column> Bind(QueryExpression query)
    {
        var columns = Query(query);
        return query.ForClause == null ? columns : new List<Column> { new Column(null) };
    }

    List<Column> Query(QueryExpression query)
    {
        if (query is QueryParenthesisExpression inner) return Bind(inner.QueryExpression);
        if (query is QuerySpecification one) return Bind(one);
        var two = (BinaryQueryExpression)query;
        var first = Bind(two.FirstQueryExpression);
        var second = Bind(two.SecondQueryExpression);
        if (first != null && second != null && first.Count != second.Count)
            Report(two.SecondQueryExpression, "count", $"{second.Count} columns below {first.Count}");
        else if (first != null && second != null)
            for (int at = 0; at < first.Count; at++) Clash(two.SecondQueryExpression, first[at].Kind, second[at].Kind);
        Order(two.OrderByClause, first);
        return first;
    }

    /// <summary>ORDER BY may name a column of the result.</summary>
    void Order(OrderByClause clause, List<Column> columns)
    {
        foreach (var element in clause?.OrderByElements ?? new List<ExpressionWithSortOrder>())
        {
            bool isResult = element.Expression is ColumnReferenceExpression column
                && column.MultiPartIdentifier?.Count == 1
                && columns?.Any(other => Catalog.Same(other.Name, column.MultiPartIdentifier[0].Value)) == true;
            if (!isResult) element.Accept(this);
        }
    }

    List<Column> Bind(QuerySpecification query)
    {
        var scope = new List<Source>();
        scopes.Push(scope);
        foreach (var table in query.FromClause?.TableReferences ?? new List<TableReference>()) From(table, scope,
            false);
        foreach (TSqlFragment clause in new TSqlFragment[] { query.TopRowFilter, query.WhereClause,
            query.GroupByClause, query.HavingClause, query.OffsetClause })
            clause?.Accept(this);
        var columns = Selected(query.SelectElements, scope);
        Order(query.OrderByClause, columns);
        if (found != null) new Grouping(this, query, scope).Check();
        scopes.Pop();
        return columns;
    }

    List<Column> Selected(IList<SelectElement> elements, List<Source> scope)
    {
        var columns = new List<Column>();
        foreach (var element in elements)
        {
            element.Accept(this);
            if (element is SelectScalarExpression scalar)
            {
                var column = scalar.Expression as ColumnReferenceExpression;
                var own = column?.MultiPartIdentifier?.Identifiers;
                columns?.Add(new Column(scalar.ColumnName?.Value ?? own?[own.Count - 1].Value,
                    Kind(scalar.Expression)));
            }
            else if (element is SelectStarExpression star)
            {
                var qualifier = star.Qualifier?.Identifiers[star.Qualifier.Count - 1].Value;
                var sources = scope.Where(source => qualifier == null || Catalog.Same(source.Alias, qualifier))
                    .ToList();
                if (sources.Count == 0) Report(star, "table", $"{qualifier} is not there");
                foreach (var source in sources)
                    if (source.Columns == null) columns = null;
                    else columns?.AddRange(source.Columns);
            }
        }
        return columns;
    }

    public override void ExplicitVisit(SelectSetVariable s)
    {
        Find(s, s.Variable.Name);
        s.Expression.Accept(this);
        Clash(s, variables.TryGetValue(s.Variable.Name, out var variable) ? variable.Kind : null, Kind(s.Expression));
    }

    public override void ExplicitVisit(SelectStatement s) => With(s, () =>
    {
        var columns = Bind(s.QueryExpression);
        if (s.Into != null) AsTable(s, columns, new List<Identifier>());
        foreach (var hint in s.OptimizerHints) hint.Accept(this);
    });

    void With(StatementWithCtesAndXmlNamespaces statement, Action body)
    {
        ctes.Push(new Dictionary<string, List<Column>>(ctes.Peek(), StringComparer.OrdinalIgnoreCase));
        var own = statement.WithCtesAndXmlNamespaces?.CommonTableExpressions;
        foreach (var cte in own ?? new List<CommonTableExpression>())
        {
            // It may name itself.
            ctes.Peek()[cte.ExpressionName.Value] = Named(null, cte.Columns);
            ctes.Peek()[cte.ExpressionName.Value] = AsTable(cte, Bind(cte.QueryExpression), cte.Columns);
        }
        body();
        ctes.Pop();
    }

    public override void ExplicitVisit(ScalarSubquery s)
    {
        if (Bind(s.QueryExpression) is List<Column> columns && columns.Count != 1) Report(s, "count",
            $"{columns.Count} columns for one value");
    }

    public override void ExplicitVisit(ExistsPredicate e) => Bind(e.Subquery.QueryExpression);

    // FROM

    /// <summary>Only what APPLY stands before sees the tables beside it.</summary>
    void From(TableReference table, List<Source> scope, bool seesOthers)
    {
        if (table is JoinParenthesisTableReference inner) From(inner.Join, scope, seesOthers);
        else if (table is JoinTableReference join)
        {
            From(join.FirstTableReference, scope, seesOthers);
            bool applies = join is UnqualifiedJoin unqualified
                && (unqualified.UnqualifiedJoinType == UnqualifiedJoinType.CrossApply
                || unqualified.UnqualifiedJoinType == UnqualifiedJoinType.OuterApply);
            From(join.SecondTableReference, scope, applies);
            (join as QualifiedJoin)?.SearchCondition.Accept(this);
        }
        else
        {
            bool hides = table is QueryDerivedTable && !seesOthers;
            if (hides) scopes.Pop();
            var source = Resolve(table);
            if (hides) scopes.Push(scope);
            if (source.Alias != null && scope.Any(other => Catalog.Same(other.Alias, source.Alias)))
                Report(table, "twice", $"{source.Alias} is a table of this FROM twice");
            scope.Add(source);
        }
    }

    Source Resolve(TableReference reference)
    {
        var alias = (reference as TableReferenceWithAlias)?.Alias?.Value;
        if (reference is NamedTableReference named)
        {
            var source = new Source(alias ?? named.SchemaObject.BaseIdentifier.Value,
                Columns(named.SchemaObject, out var table), table);
            foreach (var hint in named.TableHints) CheckHint(hint, named, source);
            return source;
        }
        if (reference is VariableTableReference variable)
        {
            var own = Find(variable, variable.Variable.Name);
            if (own != null && own.Table == null) Report(variable, "variable", $"{own.Name} is no table");
            return new Source(alias ?? variable.Variable.Name, own?.Table?.Columns, own?.Table);
        }
        if (reference is QueryDerivedTable query) return new Source(alias,
            AsTable(query, Bind(query.QueryExpression), query.Columns));
        if (reference is InlineDerivedTable rows)
        {
            foreach (var row in rows.RowValues)
            {
                row.Accept(this);
                Count(row, row.ColumnValues.Count, rows.Columns.Count);
            }
            return new Source(alias, Named(null, rows.Columns));
        }
        if (reference is OpenJsonTableReference json)
        {
            json.Variable.Accept(this);
            json.RowPattern?.Accept(this);
            var columns = new List<Column> { new Column("key"), new Column("value"), new Column("type") };
            foreach (var item in json.SchemaDeclarationItems) item.ColumnDefinition.DataType.Accept(this);
            if (json.SchemaDeclarationItems.Count > 0)
                columns = json.SchemaDeclarationItems.Select(item => item.ColumnDefinition)
                    .Select(column => new Column(column.ColumnIdentifier.Value, catalog.Kind(column.DataType)))
                    .ToList();
            return new Source(alias, columns);
        }
        if (reference is SchemaObjectFunctionTableReference function) return new Source(alias,
            Named(TableFunction(function), function.Columns));
        if (reference is GlobalFunctionTableReference global)
        {
            foreach (var value in global.Parameters) value.Accept(this);
            return new Source(alias, GlobalFunction(global, global.Name.Value, global.Parameters.Count));
        }
        reference.AcceptChildren(this);
        return new Source(alias, null);
    }

    /// <summary>The columns of a table, a view or a CTE.</summary>
    List<Column> Columns(SchemaObjectName name, out Table table)
    {
        table = null;
        var own = name.BaseIdentifier.Value;
        var schema = name.SchemaIdentifier?.Value;
        if (schema == null && ctes.Peek().TryGetValue(own, out var cte))
        {
            CheckCase(name, own, ctes.Peek().Keys.First(other => Catalog.Same(other, own)));
            return cte;
        }
        bool isChanged = Catalog.Same(own, "inserted") || Catalog.Same(own, "deleted");
        if (schema == null && changed != null && isChanged) return changed.Columns;
        if (Catalog.Same(schema, "sys") || Catalog.Same(schema, "INFORMATION_SCHEMA"))
        {
            return View(name, "table", $"{schema}.{own}");
        }
        if (name.DatabaseIdentifier != null) return null;
        table = Known(name);
        return table?.Columns;
    }

    /// <summary>The columns of a view or a function of the server.</summary>
    List<Column> View(TSqlFragment at, string code, string name)
    {
        var view = server.View(name);
        if (view == null) Report(at, code, $"{name} is not in views.txt");
        else CheckCase(at, name, view.Name);
        return view?.Columns;
    }

    Table Known(SchemaObjectName name)
    {
        var key = Catalog.Key(name);
        if (!catalog.Tables.TryGetValue(key, out var table)) Report(name, "table", $"{key} is not there");
        else CheckCase(name, name.BaseIdentifier.Value, table.Name);
        return table;
    }

    void CheckHint(TableHint hint, NamedTableReference of, Source source)
    {
        if (hint is IndexTableHint index)
            foreach (var value in index.IndexValues) CheckIndex(hint, value, source.Table);
        if (!(hint is ForceSeekTableHint seek)) return;
        if (seek.IndexValue != null) CheckIndex(hint, seek.IndexValue, source.Table);
        Targets(source, seek.ColumnValues);
    }

    void CheckIndex(TSqlFragment at, IdentifierOrValueExpression index, Table table)
    {
        if (table != null && index.Identifier is Identifier name && !table.Indexes.Contains(name.Value))
            Report(at, "index", $"{name.Value} is no index of {table.Name}");
    }
}
