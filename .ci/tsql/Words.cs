using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>All of a batch that needs no scope: names of what it creates, collations, words of SET.</summary>
sealed class Words : TSqlFragmentVisitor
{
    public readonly List<SchemaObjectName> Created = new List<SchemaObjectName>();
    public readonly List<Identifier> Collations = new List<Identifier>();
    public readonly List<Identifier> Priorities = new List<Identifier>();

    public override void Visit(CreateTableStatement s) => Created.Add(s.SchemaObjectName);
    public override void Visit(CreateSequenceStatement s) => Created.Add(s.Name);
    public override void Visit(CreateTypeStatement s) => Created.Add(s.Name);
    public override void Visit(ProcedureStatementBody s) => Created.Add(s.ProcedureReference.Name);
    public override void Visit(FunctionStatementBody s) => Created.Add(s.Name);
    public override void Visit(ViewStatementBody s) => Created.Add(s.SchemaObjectName);
    public override void Visit(TriggerStatementBody s) => Created.Add(s.Name);

    public override void Visit(PrimaryExpression e) => Collation(e.Collation);
    public override void Visit(ColumnDefinitionBase c) => Collation(c.Collation);

    void Collation(Identifier name)
    {
        if (name != null) Collations.Add(name);
    }

    public override void Visit(GeneralSetCommand s)
    {
        if (s.CommandType == GeneralSetCommandType.DeadlockPriority && s.Parameter is IdentifierLiteral word)
            Priorities.Add(new Identifier { Value = word.Value });
    }

    static readonly string[] known = { "DATABASE_DEFAULT", "CATALOG_DEFAULT", "Latin1_General_BIN2" };

    public IEnumerable<string> Unknown(Catalog catalog)
    {
        foreach (var name in Created.Where(name => name.SchemaIdentifier != null
            && !catalog.Schemas.ContainsKey(name.SchemaIdentifier.Value)))
            yield return $"there is no schema {name.SchemaIdentifier.Value}";
        foreach (var name in Collations.Where(name => !known
            .Contains(name.Value))) yield return $"{name.Value} is no collation that is known here";
        foreach (var name in Priorities.Where(name => !new[] { "LOW", "NORMAL", "HIGH" }
            .Contains(name.Value))) yield return $"{name.Value} is no priority";
    }
}
