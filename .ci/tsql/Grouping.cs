using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>A query of groups: all that it returns is grouped by, or an aggregate.</summary>
sealed class Grouping : TSqlFragmentVisitor
{
    readonly Binder binder;
    readonly QuerySpecification query;
    readonly List<Source> scope;
    readonly HashSet<string> groups = new HashSet<string>();
    /// <summary>Whether the expression at work has an aggregate of this query.</summary>
    bool hasAggregate;
    readonly List<ColumnReferenceExpression> outside = new List<ColumnReferenceExpression>();

    public Grouping(Binder binder, QuerySpecification query, List<Source> scope)
    {
        this.binder = binder;
        this.query = query;
        this.scope = scope;
    }

    /// <summary>The text of an expression, but for spaces and cases.</summary>
    static string Text(TSqlFragment fragment) => string.Concat(fragment.ScriptTokenStream
        .Skip(fragment.FirstTokenIndex).Take(fragment.LastTokenIndex - fragment.FirstTokenIndex + 1)
        .Where(token => token.TokenType != TSqlTokenType.WhiteSpace && token.TokenType != TSqlTokenType.MultilineComment
            && token.TokenType != TSqlTokenType.SingleLineComment)
        .Select(token => token.Text.ToLowerInvariant()));

    public void Check()
    {
        foreach (var group in query.GroupByClause?.GroupingSpecifications ?? new List<GroupingSpecification>())
            if (group is ExpressionGroupingSpecification one) groups.Add(Text(one.Expression));
            else return; // ROLLUP and the like
        foreach (var element in query.SelectElements) element.Accept(this);
        query.HavingClause?.Accept(this);
        if (query.GroupByClause == null && !hasAggregate) return;
        foreach (var column in outside) binder.ReportGroup(column);
    }

    public override void ExplicitVisit(FunctionCall f)
    {
        if (groups.Contains(Text(f))) return;
        if (f.OverClause == null && f.CallTarget == null && Server.Aggregates
            .Contains(f.FunctionName.Value)) hasAggregate = true;
        else if (!Server.OfDateParts.Contains(f.FunctionName.Value)) base.ExplicitVisit(f);
        else foreach (var value in f.Parameters.Skip(1)) value.Accept(this);
    }

    public override void ExplicitVisit(ColumnReferenceExpression column)
    {
        if (column.ColumnType != ColumnType.Regular || groups.Contains(Text(column))) return;
        var parts = column.MultiPartIdentifier.Identifiers;
        var name = parts[parts.Count - 1].Value;
        // One of this query, not of one that it stands in.
        bool isOwn = scope.Any(source => (parts.Count == 1 || Catalog.Same(source.Alias, parts[parts.Count - 2].Value))
            && source.Columns?.Any(own => Catalog.Same(own.Name, name)) == true);
        // Grouped by with its alias, returned without, or the other way round.
        bool isGrouped = groups.Any(group => group == Name(parts) || group.EndsWith("." + Name(parts))
            || Name(parts).EndsWith("." + group));
        if (isOwn && !isGrouped) outside.Add(column);
    }

    static string Name(IList<Identifier> parts) =>
        string.Join(".", parts.Select(part => part.QuoteType == QuoteType.SquareBracket
            ? $"[{part.Value.Replace("]", "]]")}]" : part.Value)).ToLowerInvariant();

    /// <summary>Any expression may be grouped by as a whole.</summary>
    bool IsGroup(TSqlFragment fragment) => groups.Count > 0 && groups.Contains(Text(fragment));

    public override void ExplicitVisit(BinaryExpression e)
    {
        if (!IsGroup(e)) base.ExplicitVisit(e);
    }

    public override void ExplicitVisit(SearchedCaseExpression e)
    {
        if (!IsGroup(e)) base.ExplicitVisit(e);
    }

    public override void ExplicitVisit(SimpleCaseExpression e)
    {
        if (!IsGroup(e)) base.ExplicitVisit(e);
    }

    public override void ExplicitVisit(CoalesceExpression e)
    {
        if (!IsGroup(e)) base.ExplicitVisit(e);
    }

    public override void ExplicitVisit(CastCall e)
    {
        if (!IsGroup(e)) base.ExplicitVisit(e);
    }

    public override void ExplicitVisit(ParenthesisExpression e)
    {
        if (!IsGroup(e)) base.ExplicitVisit(e);
    }

    // A query within it has its own rule.
    public override void ExplicitVisit(ScalarSubquery s)
    {
    }

    public override void ExplicitVisit(ExistsPredicate s)
    {
    }
}
