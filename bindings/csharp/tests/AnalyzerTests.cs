using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Diagnostics;
using Readpast.Analyzers;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Handlers that return before their work is done, as a user's compiler sees them.</summary>
    public class AnalyzerTests
    {
        private const string Program = @"
            using System; using System.Threading; using System.Threading.Tasks; using Readpast;
            class Program
            {
                static Task Send(Item item) => Task.CompletedTask;
                static ValueTask Later(Item item) => default;
                static Other Mine(Item item) => new Other();
                static QueueWorker Make(Queue queue, Other? other) => new QueueWorker(queue, HANDLER);
            }
            class Other { public System.Runtime.CompilerServices.TaskAwaiter GetAwaiter() => default; }";

        [Theory]
        [InlineData("item => Mine(item)")]
        [InlineData("item => { Send(item); }")]
        [InlineData("item => { if (item.Attempt > 1) { Later(item); } }")]
        [InlineData("(Action<Item>)(item => Send(item))")]
        [InlineData("delegate (Item item) { Later(item); }")]
        public void WorkThatNobodyWaitsForIsFound(string handler)
        {
            Diagnostic found = Assert.Single(Diagnose(handler));
            Assert.Equal("RP0001", found.Id);
            Assert.Contains("(item)", found.GetMessage());
        }

        [Theory]
        [InlineData("item => Send(item)")]
        [InlineData("item => Later(item)")]
        [InlineData("Later")]
        [InlineData("async item => { await Later(item); }")]
        [InlineData("async item => await Mine(item)")]
        [InlineData("item => { Send(item).Wait(); }")]
        [InlineData("item => { Task begun = Send(item); begun.Wait(); }")]
        [InlineData("item => { _ = Send(item); }")]
        [InlineData("item => { Console.WriteLine(item.Key); }")]
        [InlineData("item => item.Complete()")]
        [InlineData("item => { Action later = () => Send(item); later(); }")]
        public void AwaitedCallsAreNotReported(string handler)
        {
            Assert.Empty(Diagnose(handler));
        }

        private static ImmutableArray<Diagnostic> Diagnose(string handler)
        {
            string assemblies = (string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES");
            IEnumerable<MetadataReference> references = assemblies.Split(Path.PathSeparator)
                .Select(path => MetadataReference.CreateFromFile(path));
            CSharpCompilation compilation = CSharpCompilation.Create(
                "Program", new[] { CSharpSyntaxTree.ParseText(Program.Replace("HANDLER", handler)) }, references,
                new CSharpCompilationOptions(
                    OutputKind.DynamicallyLinkedLibrary, nullableContextOptions: NullableContextOptions.Enable));
            Assert.Empty(compilation.GetDiagnostics().Where(each => each.Severity == DiagnosticSeverity.Error));
            return compilation.WithAnalyzers(ImmutableArray.Create<DiagnosticAnalyzer>(new UnawaitedHandlerAnalyzer()))
                .GetAnalyzerDiagnosticsAsync(default).Result;
        }
    }
}
