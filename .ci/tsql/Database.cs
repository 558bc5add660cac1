using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.SqlServer.TransactSql.ScriptDom;

/// <summary>Scripts that see each other's objects.</summary>
sealed class Database
{
    public readonly List<Batch> There, Batches;

    public Database(string folder)
    {
        There = Read(folder, "*.there");
        Batches = Read(folder, "*.sql");
        if (Batches.Count == 0) throw new InvalidDataException($"{folder} has no script with a batch");
    }

    public Database(List<Batch> there, List<Batch> batches)
    {
        There = there;
        Batches = batches;
    }

    static List<Batch> Read(string folder, string pattern) => Directory.GetFiles(folder, pattern)
        .OrderBy(path => path, StringComparer.Ordinal)
        .SelectMany(path => Batch.Read(path, Path.Combine(Path.GetFileName(folder), Path.GetFileName(path)))).ToList();

    public Catalog Declare(Server server)
    {
        var catalog = new Catalog();
        foreach (var batch in There) Declare(server, catalog, batch);
        catalog.CloseThere();
        foreach (var batch in Batches) Declare(server, catalog, batch);
        return catalog;
    }

    public static void Declare(Server server, Catalog catalog, Batch batch)
    {
        var declarer = new Declarer(catalog);
        Grammar.Tree(batch.Text)?.Accept(declarer);
        foreach (var query in declarer.Queries)
        {
            var columns = new Binder(catalog, server, batch, null).Columns(query);
            if (query is ViewStatementBody view)
                catalog.Tables[Catalog.Key(view.SchemaObjectName)] =
                    new Table(view.SchemaObjectName.BaseIdentifier.Value, columns);
            else if (query is FunctionStatementBody function)
                catalog.Routines[Catalog.Key(function.Name)].Columns = columns;
            else if (query is SelectStatement into && !catalog.Tables.ContainsKey(Catalog.Key(into.Into)))
                catalog.Tables[Catalog.Key(into.Into)] = new Table(into.Into.BaseIdentifier.Value, columns);
        }
    }

    public List<Finding> Bind(Server server)
    {
        var catalog = Declare(server);
        return Batches.SelectMany(batch => Bind(server, catalog, batch)).ToList();
    }

    public static List<Finding> Bind(Server server, Catalog catalog, Batch batch)
    {
        var found = new List<Finding>();
        new Binder(catalog, server, batch, found).Check();
        return found;
    }
}
