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
}
