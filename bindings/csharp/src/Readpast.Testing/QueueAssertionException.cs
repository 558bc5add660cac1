using System;

namespace Readpast.Testing;

/// <summary>An expectation of a test about a queue that is not met.</summary>
public sealed class QueueAssertionException : Exception
{
    /// <summary>An expectation that is not met.</summary>
    /// <param name="message">Which, and what was found.</param>
    public QueueAssertionException(string message)
        : base(message)
    {
    }
}
