using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

/// <summary>
/// A file of batches. The first ones make the objects of a database. Each other one begins with a comment,
/// `-- finds CODE` or `-- right`, and stands in that database by itself.
/// </summary>
static class Planted
{
    public static int Run(Server server, string path)
    {
        var batches = Batch.Read(path, Path.GetFileName(path)).ToList();
        var made = batches.TakeWhile(batch => !batch.Text.TrimStart().StartsWith("-- ")).ToList();
        int wrong = 0, faults = 0;
        foreach (var batch in batches.Skip(made.Count))
        {
            var words = batch.Text.TrimStart().Split('\n')[0].Trim().Split(' ');
            var wanted = words[1] == "finds" ? words[2] : null;
            var found = new Database(made, new List<Batch> { batch }).Bind(server);
            found.AddRange(Grammar.Errors(batch));
            bool isRight = wanted == null ? found.Count == 0 : found.Count > 0 && found
                .All(finding => finding.Code == wanted);
            if (wanted != null) faults++;
            if (isRight) continue;
            wrong++;
            var all = string.Join("; ", found);
            Console.WriteLine($"{batch.File}:{batch.Before + 1}: wanted {wanted ?? "nothing"}, found: {all}");
        }
        int without = batches.Count - made.Count - faults;
        Console.WriteLine($"{faults} planted faults and {without} batches without one: {wrong} were judged wrong");
        return wrong == 0 && faults > 0 ? 0 : 1;
    }
}
