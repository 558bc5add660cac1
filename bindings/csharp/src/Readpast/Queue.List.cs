using System.Collections.Generic;
using System.Linq;
using Readpast.Native;

namespace Readpast
{
    /// <content>Which queues there are, and the end of one.</content>
    public sealed partial class Queue
    {
        /// <summary>The queues that are installed in a schema, by their names.</summary>
        /// <param name="options">The connection and the schema.</param>
        /// <returns>The queues; a login that may use one of them may ask.</returns>
        /// <exception cref="QueueException">Nothing is installed there, and the like.</exception>
        public static IReadOnlyList<InstalledQueue> List(QueueOptions options)
        {
            using (var config = Required(options).ToConfig())
            using (var use = config.Borrow())
            {
                QueueException.Check(
                    QueuesMethods.readpast_list(use.Handle, out Handle queues, out Handle error), error);
                return JsonAnswer.Read(TextMethods.Take(queues)).Elements().Select(InstalledQueue.Of).ToArray();
            }
        }

        /// <summary>
        /// Drops a queue. It asks nothing: if the items are in a table of readpast's own, they all go with it, those in
        /// work as well. A table that was there before stays with its rows. Needs the rights of who installed it.
        /// </summary>
        /// <param name="options">The connection and the schema.</param>
        /// <param name="name">The queue's name.</param>
        /// <exception cref="QueueException">There is no such queue, a right is missing, and the like.</exception>
        public static void Drop(QueueOptions options, string name)
        {
            using (var config = Required(options).ToConfig())
            using (var use = config.Borrow())
            using (var texts = new Arena())
            {
                QueueException.Check(
                    QueuesMethods.readpast_drop(
                        use.Handle, texts.Text(name, nameof(name)), out Handle error), error);
            }
        }
    }
}
