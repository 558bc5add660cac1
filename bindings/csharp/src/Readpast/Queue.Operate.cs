using Readpast.Native;

namespace Readpast
{
    /// <content>Operators' calls.</content>
    public sealed unsafe partial class Queue
    {
        /// <summary>
        /// The answer to a question, as JSON: <c>Ask("errors")</c>, <c>Ask("show", "{\"key\": \"...\"}")</c>.
        /// docs/ask.md has the questions, their arguments and answers.
        /// </summary>
        /// <param name="what">The question.</param>
        /// <param name="argumentsJson">A JSON object; null: no arguments.</param>
        /// <returns>The answer, on one line.</returns>
        /// <exception cref="QueueException">
        /// With <see cref="Status.InvalidArgument"/>: there is no such question or argument; the message names those
        /// that there are.
        /// </exception>
        public string Ask(string what, string argumentsJson = null)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_ask(
                        use.Handle, texts.Text(what, nameof(what)), texts.Text(argumentsJson, nameof(argumentsJson)),
                        out Handle answer, out Handle error), error);
                return TextMethods.Take(answer);
            }
        }

        /// <summary>Finds items, in the order of their keys. Nothing is claimed or changed.</summary>
        /// <param name="filterJson">
        /// A JSON object of which every member narrows the choice: <c>keys</c>, <c>status</c>, <c>types</c> (arrays of
        /// text), <c>before</c>, <c>after</c> (UTC times of the last change) and <c>error</c> (a part of its text).
        /// Null: all items.
        /// </param>
        /// <param name="afterKey">The last key of the page before; null: from the start.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <returns>The items; none at the end. To be disposed of.</returns>
        public Batch Find(string filterJson = null, string afterKey = null, int maxItems = 1000)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                Status status = QueueException.Check(
                    QueueMethods.readpast_queue_find(
                        use.Handle, texts.Text(filterJson, nameof(filterJson)), texts.Text(afterKey, nameof(afterKey)),
                        maxItems, out Handle batch, out Handle error), error);
                return new Batch(this, status, batch);
            }
        }

        /// <summary>Counts the items and measures how long they take. Reads much of the table.</summary>
        /// <returns>The figures.</returns>
        public QueueStats Stats()
        {
            return QueueStats.Of(Ask("stats"));
        }
    }
}
