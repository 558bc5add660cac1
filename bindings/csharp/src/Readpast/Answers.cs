using System.Collections;
using System.Collections.Generic;

namespace Readpast
{
    /// <summary>The answers to a call on several items, in the order of the items.</summary>
    /// <typeparam name="T">The answer to one of them.</typeparam>
    public sealed class Answers<T> : IReadOnlyList<T>
    {
        private readonly T[] answers;

        internal Answers(Status status, T[] answers)
        {
            Status = status;
            this.answers = answers;
        }

        /// <summary><see cref="Status.Ok"/>, or the answer of the first item that was refused.</summary>
        public Status Status { get; }

        /// <inheritdoc/>
        public int Count
        {
            get { return answers.Length; }
        }

        /// <inheritdoc/>
        public T this[int index]
        {
            get { return answers[index]; }
        }

        /// <inheritdoc/>
        public IEnumerator<T> GetEnumerator()
        {
            return ((IEnumerable<T>)answers).GetEnumerator();
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return answers.GetEnumerator();
        }
    }

    /// <summary>Results of settling items and claiming others in the same commit.</summary>
    public sealed class SettledAndClaimed
    {
        internal SettledAndClaimed(Answers<Outcome> outcomes, Batch batch)
        {
            Outcomes = outcomes;
            Batch = batch;
        }

        /// <summary>The outcomes of the settled items.</summary>
        public Answers<Outcome> Outcomes { get; }

        /// <summary>The claimed items; empty when nothing was due. The caller disposes of it.</summary>
        public Batch Batch { get; }
    }
}
