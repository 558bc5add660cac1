using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>Procedures, functions, sequences.</summary>
sealed partial class Binder
{
    // Procedures

    public override void ExplicitVisit(ExecuteSpecification s)
    {
        if (s.Variable is VariableReference answer) Find(answer, answer.Name);
        if (s.ExecutableEntity is ExecutableStringList strings)
        {
            strings.AcceptChildren(this);
            if (Declarer.Text(strings) is string text) Within(strings, text);
        }
        else if (s.ExecutableEntity is ExecutableProcedureReference call) Execute(call);
    }

    /// <summary>A statement that is given as a text has its own variables.</summary>
    void Within(TSqlFragment at, string text)
    {
        var inner = new Batch(batch.File, batch.Before + at.StartLine - 1, text);
        if (Grammar.Tree(text) == null) found?.AddRange(Grammar.Errors(inner));
        else new Binder(catalog, server, inner, found, true).Check();
    }

    void Execute(ExecutableProcedureReference call)
    {
        foreach (var argument in call.Parameters) argument.ParameterValue?.Accept(this);
        var name = call.ProcedureReference.ProcedureReference?.Name;
        if (name == null)
        {
            call.ProcedureReference.Accept(this);
            return;
        }
        var arguments = call.Parameters.Where(argument => argument.Variable != null).ToList();
        if (server.Procedure(name.BaseIdentifier.Value) is List<string> theirs)
        {
            // Those of the text that it runs are any.
            var unknown = arguments.Where(argument => !theirs.Contains(argument.Variable.Name));
            foreach (var argument in unknown.Where(_ => !theirs.Contains("*")))
                Report(argument, "argument", $"{name.BaseIdentifier.Value} has no {argument.Variable.Name}");
            return;
        }
        if (!catalog.Routines.TryGetValue(Catalog.Key(name), out var routine) || !routine.IsProcedure)
        {
            Report(call, "procedure", $"{Catalog.Key(name)} is not there");
            return;
        }
        CheckCase(call, name.BaseIdentifier.Value, routine.Name);
        var given = new HashSet<ProcedureParameter>();
        for (int place = 0; place < call.Parameters.Count; place++)
        {
            var argument = call.Parameters[place];
            var parameter = argument.Variable == null ? routine.Parameters.ElementAtOrDefault(place)
                : routine.Parameters.FirstOrDefault(other =>
                    Catalog.Same(other.VariableName.Value, argument.Variable.Name));
            if (parameter == null)
            {
                var called = argument.Variable?.Name ?? $"argument {place + 1}";
                Report(argument, "argument", $"{routine.Name} has no {called}");
                continue;
            }
            if (argument.Variable != null) CheckCase(argument, argument.Variable.Name, parameter.VariableName.Value);
            if (!given.Add(parameter)) Report(argument, "argument", $"{parameter.VariableName.Value} is given twice");
            if (argument.IsOutput && parameter.Modifier != ParameterModifier.Output)
                Report(argument, "argument", $"{parameter.VariableName.Value} of {routine.Name} is no OUTPUT");
            Clash(argument, catalog.Kind(parameter.DataType), Kind(argument.ParameterValue));
        }
        var needed = routine.Parameters.Where(parameter => parameter.Value == null);
        foreach (var missing in needed.Where(parameter => !given.Contains(parameter)))
            Report(call, "argument", $"{routine.Name} needs {missing.VariableName.Value}");
    }

    // Functions

    public override void ExplicitVisit(FunctionCall f)
    {
        var name = f.FunctionName.Value;
        // The part of a date is no column.
        var values = f.Parameters.Skip(f.CallTarget == null && Server.OfDateParts.Contains(name) ? 1 : 0);
        foreach (var value in values) value.Accept(this);
        f.OverClause?.Accept(this);
        f.WithinGroupClause?.Accept(this);
        if (f.CallTarget is MultiPartIdentifierCallTarget of)
        {
            var owner = of.MultiPartIdentifier.Identifiers;
            if (IsMethod(owner, name, f)) return;
            CheckSchema(f, owner[owner.Count - 1].Value);
            Call(f, $"{owner[owner.Count - 1].Value}.{name}", name, f.Parameters.Count, false);
            return;
        }
        if (f.CallTarget != null) f.CallTarget.Accept(this);
        else
        {
            Builtin(f, name, f.Parameters.Count);
            CheckDatePart(f, name);
            CheckLiteral(f, name);
        }
    }

    void Builtin(TSqlFragment at, string name, int count)
    {
        if (!server.Functions.TryGetValue(name, out var own)) Report(at, "function", $"{name} is not there");
        else if (own.Since > Server.Oldest) Report(at, "newer",
            $"{name} came with {own.Since}; the oldest server is {Server.Oldest}");
        else if (count < own.Least || count > own.Most) Report(at, "argument", $"{name} with {count} arguments");
    }

    void CheckDatePart(FunctionCall f, string name)
    {
        if (!Server.OfDateParts.Contains(name)) return;
        var part = f.Parameters.Count > 0 ? f.ScriptTokenStream[f.Parameters[0].FirstTokenIndex].Text : "nothing";
        if (!Server.DateParts.Contains(part)) Report(f, "function", $"{part} is no part of a date");
    }

    /// <summary>A method of a column of XML.</summary>
    bool IsMethod(IList<Identifier> owner, string name, TSqlFragment at)
    {
        if (!new[] { "value", "query", "exist", "nodes", "modify" }.Contains(name)
            || catalog.Schemas.ContainsKey(owner[0].Value)) return false;
        var column = new ColumnReferenceExpression { MultiPartIdentifier = new MultiPartIdentifier() };
        foreach (var part in owner) column.MultiPartIdentifier.Identifiers.Add(part);
        if (Find(column, false) == null && !scopes.Any(scope => scope.Any(source => source.Columns == null)))
            Report(at, "column", $"{string.Join(".", owner.Select(part => part.Value))} is not there");
        return true;
    }

    Routine Call(TSqlFragment at, string key, string name, int count, bool isTable)
    {
        if (!catalog.Routines.TryGetValue(key, out var routine) || routine.IsProcedure || routine.IsTable != isTable)
        {
            Report(at, "function", $"{key} is not there");
            return null;
        }
        CheckCase(at, name, routine.Name);
        if (count != routine.Parameters.Count) Report(at, "argument",
            $"{routine.Name} has {routine.Parameters.Count} parameters, not {count}");
        return routine;
    }

    List<Column> TableFunction(SchemaObjectFunctionTableReference f)
    {
        foreach (var value in f.Parameters) value.Accept(this);
        var schema = f.SchemaObject.SchemaIdentifier?.Value;
        var name = f.SchemaObject.BaseIdentifier.Value;
        if (Catalog.Same(schema, "sys"))
        {
            return View(f, "function", $"{schema}.{name}");
        }
        var owner = f.SchemaObject.Identifiers.Take(f.SchemaObject.Count - 1).ToList();
        if (owner.Count > 0 && IsMethod(owner, name, f)) return null;
        if (owner.Count == 0 && server.Functions.ContainsKey(name)) return GlobalFunction(f, name, f.Parameters.Count);
        return Call(f, Catalog.Key(f.SchemaObject), name, f.Parameters.Count, true)?.Columns;
    }

    /// <summary>STRING_SPLIT and its like.</summary>
    List<Column> GlobalFunction(TSqlFragment at, string name, int count)
    {
        Builtin(at, name, count);
        return new List<Column> { new Column("value") };
    }

    public override void ExplicitVisit(NextValueForExpression n)
    {
        var key = Catalog.Key(n.SequenceName);
        if (!catalog.Sequences.TryGetValue(key, out var name)) Report(n, "sequence", $"{key} is not there");
        else CheckCase(n, n.SequenceName.BaseIdentifier.Value, name);
        n.OverClause?.Accept(this);
    }
}
