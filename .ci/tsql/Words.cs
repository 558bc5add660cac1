using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>All of a batch that needs no scope: schemas, names of created objects, collations, words of SET.</summary>
sealed class Words : TSqlFragmentVisitor
{
    public readonly List<SchemaObjectName> Created = new List<SchemaObjectName>();
    readonly List<Identifier> schemas = new List<Identifier>();
    readonly List<Identifier> collations = new List<Identifier>();
    readonly List<IdentifierLiteral> priorities = new List<IdentifierLiteral>();

    /// <summary>Whether the batch creates a procedure, a function, a view or a trigger.</summary>
    public bool IsModule { get; private set; }

    public override void Visit(CreateTableStatement s) => Created.Add(s.SchemaObjectName);
    public override void Visit(CreateSequenceStatement s) => Created.Add(s.Name);
    public override void Visit(CreateTypeStatement s) => Created.Add(s.Name);
    public override void Visit(ProcedureStatementBody s) => Module(s.ProcedureReference.Name);
    public override void Visit(FunctionStatementBody s) => Module(s.Name);
    public override void Visit(ViewStatementBody s) => Module(s.SchemaObjectName);
    public override void Visit(TriggerStatementBody s) => Module(s.Name);

    void Module(SchemaObjectName name)
    {
        IsModule = true;
        Created.Add(name);
    }

    public override void Visit(SchemaObjectName name)
    {
        if (name.SchemaIdentifier != null) schemas.Add(name.SchemaIdentifier);
    }

    public override void Visit(PrimaryExpression e) => Collation(e.Collation);
    public override void Visit(ColumnDefinitionBase c) => Collation(c.Collation);

    void Collation(Identifier name)
    {
        if (name != null) collations.Add(name);
    }

    public override void Visit(GeneralSetCommand s)
    {
        if (s.CommandType == GeneralSetCommandType.DeadlockPriority && s.Parameter is IdentifierLiteral word)
            priorities.Add(word);
    }

    static readonly string[] known = { "DATABASE_DEFAULT", "CATALOG_DEFAULT", "Latin1_General_BIN2" };

    public void Check(Catalog catalog, Action<TSqlFragment, string, string> report)
    {
        foreach (var name in Created.Where(name => name.SchemaIdentifier != null
            && !catalog.Schemas.ContainsKey(name.SchemaIdentifier.Value)))
            report(name, "word", $"there is no schema {name.SchemaIdentifier.Value}");
        foreach (var given in schemas)
            if (catalog.Schemas.TryGetValue(given.Value, out var real) && given.Value != real)
                report(given, "case", $"{given.Value} is called {real}");
        foreach (var name in collations.Where(name => !known.Contains(name.Value)))
            report(name, "word", $"{name.Value} is no collation that is known here");
        foreach (var word in priorities.Where(word => !new[] { "LOW", "NORMAL", "HIGH" }.Contains(word.Value)))
            report(word, "word", $"{word.Value} is no priority");
    }
}
