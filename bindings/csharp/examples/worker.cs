using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Readpast;

/// <summary>
/// A worker, to copy and make your own: put your work into Handle.
///
///   READPAST_CONNECTION='Driver={...};Server=...;' worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue
///
///   -b items       how many items to take at once (default 1); round trips are saved without it
///   -l lease_ms    how long a claim holds, should this process die
///   -o key=value   any setting of the library, like -o schema=sales
///   -f n           every nth item fails, to see what becomes of it
///   -r             write to standard output what was begun and what the server answered, as
///                  bindings/c/examples/records.h describes
///
/// SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C
/// ends it at once; the leases then run out, and other workers take over.
/// </summary>
internal static class Program
{
    private const int Failure = 1, Usage = 2;

    private static int Main(string[] args)
    {
        Arguments arguments = Arguments.Read(args);
        if (arguments == null)
        {
            Console.Error.WriteLine("usage: worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue");
            return Usage;
        }
        try
        {
            using (Queue queue = Queue.Open(arguments.Options, arguments.Queue))
            {
                Work(queue, arguments);
                queue.Close(TimeSpan.FromSeconds(5));
            }
            return 0;
        }
        catch (QueueException exception)
        {
            Console.Error.WriteLine(
                arguments.Queue + ": " + exception.Message + " (" + ReadpastLibrary.NameOf(exception.Status) + ")");
            return Failure;
        }
    }

    private static void Work(Queue queue, Arguments arguments)
    {
        var records = arguments.Records ? new Records() : null;
        int handled = 0;
        var worker = new QueueWorker(queue, item =>
        {
            records?.Begun(item);
            return Handle(item, ref handled, arguments.FailEvery);
        })
        {
            BatchSize = arguments.BatchSize,
        };
        if (records != null)
        {
            worker.Settled += records.Settled;
        }
        using (new StopOnSignal(worker))
        {
            worker.Run();
        }
    }

    /// <summary>The work itself, of which this program only pretends.</summary>
    private static Settlement Handle(Item item, ref int handled, int failEvery)
    {
        if (item.IsNull("Recipient"))
        {
            return item.Fail("there is no recipient");
        }
        // Here a message would be sent to item.GetString("Recipient").
        handled++;
        return failEvery > 0 && handled % failEvery == 0
            ? item.Retry("the mail server said: 451 try again later", TimeSpan.FromMilliseconds(200))
            : item.Complete();
    }
}

/// <summary>The command line's arguments.</summary>
internal sealed class Arguments
{
    internal QueueOptions Options { get; } = new QueueOptions();

    internal string Queue { get; private set; }

    internal int BatchSize { get; private set; } = 1;

    internal int FailEvery { get; private set; }

    internal bool Records { get; private set; }

    /// <summary>Null when they cannot be understood.</summary>
    internal static Arguments Read(string[] args)
    {
        var arguments = new Arguments();
        arguments.Options["connection"] = Environment.GetEnvironmentVariable("READPAST_CONNECTION") ?? string.Empty;
        for (int i = 0; i < args.Length; i++)
        {
            if (args[i] == "-r")
            {
                arguments.Records = true;
            }
            else if (args[i].StartsWith("-", StringComparison.Ordinal))
            {
                if (i + 1 == args.Length || !arguments.Take(args[i], args[++i]))
                {
                    return null;
                }
            }
            else if (arguments.Queue == null)
            {
                arguments.Queue = args[i];
            }
            else
            {
                return null;
            }
        }
        return arguments.Queue == null ? null : arguments;
    }

    private bool Take(string option, string value)
    {
        int number;
        bool isNumber = int.TryParse(value, out number);
        switch (option)
        {
            case "-b":
                BatchSize = number;
                return isNumber && number >= 1;
            case "-f":
                FailEvery = number;
                return isNumber && number >= 0;
            case "-l":
                Options["lease.ms"] = value;
                return isNumber;
            case "-o":
                int equals = value.IndexOf('=');
                if (equals > 0)
                {
                    Options[value.Substring(0, equals)] = value.Substring(equals + 1);
                }
                return equals > 0;
            default:
                return false;
        }
    }
}

/// <summary>Stops a worker when a signal ends the process; a second Ctrl-C is not caught any more.</summary>
internal sealed class StopOnSignal : IDisposable
{
    private readonly PosixSignalRegistration[] signals;

    internal StopOnSignal(QueueWorker worker)
    {
        bool isTold = false;
        void Stop(PosixSignalContext signal)
        {
            // A second Ctrl-C: somebody has lost patience.
            signal.Cancel = !isTold || signal.Signal != PosixSignal.SIGINT;
            isTold = true;
            worker.Stop();
        }
        signals = new[]
        {
            PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop),
            PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop),
        };
    }

    public void Dispose()
    {
        foreach (PosixSignalRegistration signal in signals)
        {
            signal.Dispose();
        }
    }
}

/// <summary>Writes down what happened, so that somebody else can prove it: see bindings/c/examples/records.h.</summary>
internal sealed class Records
{
    private readonly Stream output = Console.OpenStandardOutput();

    /// <summary>Before the work, so that none is without a record.</summary>
    internal void Begun(Item item)
    {
        Write("T\t" + item.Key + "\t" + item.Attempt + "\n");
    }

    internal void Settled(SettledItem item)
    {
        // Items given back were not begun; the record leaves them out.
        if (item.State != ItemState.Pending)
        {
            Write("S\t" + item.Key + "\t" + item.Attempt + "\t" + (int)item.Answer + "\t" + (int)item.State + "\n");
        }
    }

    private void Write(string line)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(line);
        lock (output)
        {
            output.Write(bytes, 0, bytes.Length);
            output.Flush();
        }
    }
}
