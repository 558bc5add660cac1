using System;
using System.Runtime.InteropServices;

// The structs of readpast.h, field by field; a test compares their fields with the header's.
#pragma warning disable CS0649 // fields that only the library writes

namespace Readpast.Native
{
    /// <summary>A handle of any type: a number in a struct, passed by value.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct Handle
    {
        public ulong Id;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct NewItemStruct
    {
        public UIntPtr StructSize;
        public IntPtr Type;
        public IntPtr Step;
        public long DelayMs;
        public IntPtr Due;
        public IntPtr ColumnsJson;
        public IntPtr Traceparent;
        public IntPtr Tracestate;
        public IntPtr AfterJson;
        public IntPtr OnFailed;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct ReceiptStruct
    {
        public UIntPtr StructSize;
        public IntPtr Key;
        public IntPtr Token;
        public int Answer;
        public int Reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct SettlementStruct
    {
        public UIntPtr StructSize;
        public IntPtr Key;
        public IntPtr Token;
        public int Attempt;
        public int Action;
        public IntPtr Step;
        public IntPtr Response;
        public IntPtr Error;
        public long DelayMs;
        public IntPtr Due;
        public UIntPtr StepLength;
        public UIntPtr ResponseLength;
        public UIntPtr ErrorLength;
        public UIntPtr DueLength;
        public IntPtr SetJson;
        public UIntPtr SetJsonLength;
        public IntPtr ThenJson;
        public UIntPtr ThenJsonLength;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct OutcomeStruct
    {
        public UIntPtr StructSize;
        public int Answer;
        public int State;
        public int Attempt;
        public int Reserved;
        public fixed byte Token[40];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct LeaseStruct
    {
        public UIntPtr StructSize;
        public IntPtr Key;
        public int Attempt;
        public int Reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct ItemStruct
    {
        public UIntPtr StructSize;
        public IntPtr Key;
        public IntPtr Token;
        public int Attempt;
        public int ColumnCount;
        public int State;
        public int Reserved;
        public IntPtr Type;
        public IntPtr Step;
        public IntPtr Due;
        public IntPtr Enqueued;
        public IntPtr LeaseUntil;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct ColumnStruct
    {
        public UIntPtr StructSize;
        public IntPtr Name;
        public int Type;
        public int Reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct ValueStruct
    {
        public UIntPtr StructSize;
        public int Type;
        public int IsNull;
        public long Integer;
        public double Number;
        public IntPtr Text;
        public IntPtr Bytes;
        public UIntPtr Length;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct WorkerOptionsStruct
    {
        public UIntPtr StructSize;
        public int UntilEmpty;
        public int Events;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct WorkerFiguresStruct
    {
        public UIntPtr StructSize;
        public long Ready;
        public long Begun;
        public long Ended;
        public long Claimed;
        public long Settled;
        public long Released;
        public long Lost;
        public long Refused;
        public long Calls;
        public long Troubles;
        public long CallUsP50;
        public long CallUsP99;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct EventStruct
    {
        public UIntPtr StructSize;
        public int Kind;
        public int Answer;
        public IntPtr Key;
        public int Attempt;
        public int State;
        public int Action;
        public IntPtr Message;
        public IntPtr LeftOut;
        public IntPtr Line;
    }
}
