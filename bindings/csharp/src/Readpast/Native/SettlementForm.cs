using System;

namespace Readpast.Native
{
    /// <summary>Settlements in the form that the library judges.</summary>
    internal static class SettlementForm
    {
        internal static unsafe SettlementStruct ToNative(this Settlement settlement, Arena texts)
        {
            // A delay of -1 would mean none, so delays below zero become -2 or less.
            TimeSpan? given = settlement.Delay;
            long delay = Milliseconds.Of(given ?? TimeSpan.Zero);
            delay = given == null ? -1 : given < TimeSpan.Zero ? Math.Min(delay, -2) : delay;
            return new SettlementStruct
            {
                StructSize = (UIntPtr)sizeof(SettlementStruct),
                Key = texts.Text(settlement.Key, nameof(settlement.Key)),
                Token = texts.Text(settlement.Token, nameof(settlement.Token)),
                Attempt = settlement.Attempt,
                Action = (int)settlement.Action,
                Step = texts.Any(settlement.Step, out UIntPtr step),
                StepLength = step,
                Response = texts.Any(settlement.Response, out UIntPtr response),
                ResponseLength = response,
                Error = texts.Any(settlement.Error, out UIntPtr error),
                ErrorLength = error,
                DelayMs = delay,
                Due = texts.Any(settlement.DueText, out UIntPtr due),
                DueLength = due,
                SetJson = texts.Any(settlement.SetJson, out UIntPtr set),
                SetJsonLength = set,
                ThenJson = texts.Any(settlement.ThenJson, out UIntPtr then),
                ThenJsonLength = then,
            };
        }
    }
}
