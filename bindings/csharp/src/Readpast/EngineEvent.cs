using System;
using Readpast.Native;

namespace Readpast
{
    /// <summary>Something that happened in the library's worker.</summary>
    internal sealed unsafe class EngineEvent
    {
        private EngineEvent(EventStruct from)
        {
            Kind = (EventKind)from.Kind;
            Answer = (Status)from.Answer;
            Key = Utf8.Read(from.Key);
            Attempt = from.Attempt;
            State = (ItemState)from.State;
            Action = from.Action == 0 ? (SettlementAction?)null : (SettlementAction)from.Action;
            Line = Utf8.Read(from.Line);
        }

        internal EventKind Kind { get; }

        internal Status Answer { get; }

        internal string Key { get; }

        internal int Attempt { get; }

        internal ItemState State { get; }

        /// <summary>The action that was to settle the item, or null.</summary>
        internal SettlementAction? Action { get; }

        /// <summary>The line for a log, or null.</summary>
        internal string Line { get; }

        /// <summary>Copies of all events there are.</summary>
        internal static EngineEvent[] Read(Handle events)
        {
            var all = new EngineEvent[EventsMethods.readpast_events_count(events)];
            for (int i = 0; i < all.Length; i++)
            {
                var told = new EventStruct { StructSize = (UIntPtr)sizeof(EventStruct) };
                QueueException.Check(EventsMethods.readpast_events_get(events, i, ref told, out Handle error), error);
                all[i] = new EngineEvent(told);
            }
            return all;
        }
    }
}
