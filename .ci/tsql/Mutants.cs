using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>Misspells names of real scripts, one at a time. The binder has to find them.</summary>
static class Mutants
{
    /// <summary>Those that may get away, of a thousand.</summary>
    const int MayStay = 5;

    sealed class Mutant
    {
        public Database Database;
        public Batch Before, After;
        public string Name;
        public int Line;
    }

    public static int Run(Server server, int count, int seed, List<string> folders)
    {
        var databases = folders.Select(folder => new Database(folder)).ToList();
        var dice = new Random(seed);
        var mutants = new List<Mutant>();
        while (mutants.Count < count)
        {
            var database = databases[dice.Next(databases.Count)];
            // A long batch as often as its length says.
            int place = dice.Next(database.Batches.Sum(batch => batch.Text.Length));
            var chosen = database.Batches.First(batch => (place -= batch.Text.Length) < 0);
            if (Misspell(database, chosen, dice) is Mutant mutant) mutants.Add(mutant);
        }
        var catalogs = new Dictionary<Database, Lazy<Catalog>>();
        foreach (var database in mutants.Select(mutant => mutant.Database).Distinct())
            catalogs[database] = new Lazy<Catalog>(() => database.Declare(server));
        var stayed = mutants.AsParallel().Where(mutant => !IsFound(server, mutant, catalogs[mutant.Database].Value))
            .ToList();
        foreach (var mutant in stayed)
            Console.WriteLine($"{mutant.Before.File}:{mutant.Line}: not found: {mutant.Name}");
        Console.WriteLine($"{mutants.Count - stayed.Count} of {mutants.Count} misspelt names were found (seed {seed})");
        return stayed.Count * 1000 <= mutants.Count * MayStay ? 0 : 1;
    }

    static bool IsFound(Server server, Mutant mutant, Catalog catalog)
    {
        if (Grammar.Tree(mutant.After.Text) == null
            || Database.Bind(server, catalog, mutant.After).Count > 0) return true;
        // An object with another name or shape shows where it is used.
        Func<List<Batch>, List<Batch>> with = batches => batches
            .Select(batch => batch == mutant.Before ? mutant.After : batch).ToList();
        return new Database(mutant.Database.There, with(mutant.Database.Batches)).Bind(server).Count > 0;
    }

    static Mutant Misspell(Database database, Batch batch, Random dice)
    {
        if (!(Grammar.Tree(batch.Text) is TSqlFragment tree)) return null;
        var free = new FreeNames();
        tree.Accept(free);
        var words = new Words();
        tree.Accept(words);
        foreach (var name in words.Created) free.Free(name.BaseIdentifier);
        var tokens = tree.ScriptTokenStream.Where((token, at) => IsName(token) && !free.Places.Contains(at)).ToList();
        if (tokens.Count == 0) return null;
        var chosen = tokens[dice.Next(tokens.Count)];
        bool isQuoted = chosen.Text[0] == '[' || chosen.Text[0] == '"';
        // Without its marks: one letter doubled, left out, or replaced.
        int first = isQuoted || chosen.Text[0] == '@' ? 1 : 0, last = chosen.Text.Length - (isQuoted ? 1 : 0);
        int place = first + dice.Next(last - first);
        var text = chosen.Text;
        if (!char.IsLetterOrDigit(text[place])) return null;
        int way = dice.Next(3);
        var wrong = way == 0 && last - first > 1 ? text.Remove(place, 1) : way == 1
            ? text.Insert(place, text[place].ToString())
            : text.Remove(place, 1).Insert(place, char.ToLowerInvariant(text[place]) == 'x' ? "y" : "x");
        // Another type is no misspelt one.
        if (wrong == "varchar" || wrong == "char") return null;
        var after = new Batch(batch.File, batch.Before,
            batch.Text.Remove(chosen.Offset, text.Length).Insert(chosen.Offset, wrong));
        return new Mutant
        {
            Database = database,
            Before = batch,
            After = after,
            Name = $"{text} as {wrong}",
            Line = batch.Before + chosen.Line,
        };
    }

    static bool IsName(TSqlParserToken token) => token.TokenType == TSqlTokenType.Identifier
        || token.TokenType == TSqlTokenType.QuotedIdentifier
        || token.TokenType == TSqlTokenType.Variable && !Binder.Marks.IsMatch(token.Text);

    /// <summary>Names of what is made: nothing need refer to it.</summary>
    sealed class FreeNames : TSqlFragmentVisitor
    {
        public readonly HashSet<int> Places = new HashSet<int>();

        public void Free(TSqlFragment name)
        {
            if (name != null)
                for (int at = name.FirstTokenIndex; at <= name.LastTokenIndex; at++) Places.Add(at);
        }

        // Columns of a result belong to its caller.
        public override void Visit(SelectScalarExpression s) => Free(s.ColumnName);
        // Only errors name them.
        public override void Visit(ConstraintDefinition c) => Free(c.ConstraintIdentifier);
        public override void Visit(CreateIndexStatement s) => Free(s.Name);
        public override void Visit(ColumnDefinitionBase c) => Free(c.ColumnIdentifier);
    }
}
