using System.Collections.Immutable;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;

namespace Readpast.Analyzers
{
    /// <summary>
    /// Finds handlers that the compiler takes for an <c>Action&lt;Item&gt;</c> although they begin work that goes on
    /// when they have returned: their items would be settled before it is done.
    /// </summary>
    [DiagnosticAnalyzer(LanguageNames.CSharp)]
    public sealed class UnawaitedHandlerAnalyzer : DiagnosticAnalyzer
    {
        private static readonly DiagnosticDescriptor Unawaited = new DiagnosticDescriptor(
            "RP0001",
            "A handler does not wait for the work that it begins",
            "The handler returns before '{0}' has ended, and its item is Completed at once: make it 'async' and " +
            "await it, or return it as a Task",
            "Usage", DiagnosticSeverity.Warning, true);

        /// <inheritdoc/>
        public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } =
            ImmutableArray.Create(Unawaited);

        /// <inheritdoc/>
        public override void Initialize(AnalysisContext context)
        {
            context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
            context.EnableConcurrentExecution();
            context.RegisterOperationAction(Look, OperationKind.ObjectCreation);
        }

        private static void Look(OperationAnalysisContext context)
        {
            var creation = (IObjectCreationOperation)context.Operation;
            if (creation.Constructor?.ContainingType.ToDisplayString() != "Readpast.QueueWorker")
            {
                return;
            }
            foreach (IArgumentOperation argument in creation.Arguments)
            {
                IOperation value = argument.Value is IDelegateCreationOperation made ? made.Target : argument.Value;
                var type = argument.Parameter?.Type as INamedTypeSymbol;
                bool isAction = type?.DelegateInvokeMethod?.ReturnsVoid == true;
                if (isAction && value is IAnonymousFunctionOperation { Symbol.IsAsync: false } handler)
                {
                    Look(handler, context);
                }
            }
        }

        /// <summary>Looks for statements that neither await their result nor keep it.</summary>
        private static void Look(IAnonymousFunctionOperation handler, OperationAnalysisContext context)
        {
            foreach (var each in handler.Body.Descendants().OfType<IExpressionStatementOperation>())
            {
                IOperation begun = (each.Operation as IConversionOperation)?.Operand ?? each.Operation;
                bool isOfHandler =
                    each.Syntax.FirstAncestorOrSelf<AnonymousFunctionExpressionSyntax>() == handler.Syntax &&
                    each.Syntax.FirstAncestorOrSelf<LocalFunctionStatementSyntax>() == Around(handler);
                bool isKept = begun is IAssignmentOperation or IAwaitOperation;
                if (isOfHandler && !isKept && IsAwaitable(begun.Type))
                {
                    context.ReportDiagnostic(Diagnostic.Create(Unawaited, begun.Syntax.GetLocation(), begun.Syntax));
                }
            }
        }

        private static LocalFunctionStatementSyntax? Around(IAnonymousFunctionOperation handler)
        {
            return handler.Syntax.FirstAncestorOrSelf<LocalFunctionStatementSyntax>();
        }

        private static bool IsAwaitable(ITypeSymbol? type)
        {
            return type != null && type.GetMembers("GetAwaiter").OfType<IMethodSymbol>()
                .Any(method => method.Parameters.IsEmpty && !method.ReturnsVoid);
        }
    }
}
