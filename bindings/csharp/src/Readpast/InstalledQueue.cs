using System.Xml.Linq;

namespace Readpast
{
    /// <summary>A queue that is installed.</summary>
    public sealed class InstalledQueue
    {
        internal InstalledQueue(string name, string table, string description, bool isOwn)
        {
            Name = name;
            Table = table;
            Description = description;
            IsOwn = isOwn;
        }

        /// <summary>Its name.</summary>
        public string Name { get; }

        /// <summary>
        /// The table of its items with its schema, as the catalog has it; null where hand-written procedures hide it.
        /// </summary>
        public string Table { get; }

        /// <summary>Its description, JSON.</summary>
        public string Description { get; }

        /// <summary>
        /// Whether the items are in a table of readpast's own, which <see cref="Queue.Drop"/> drops with them.
        /// </summary>
        public bool IsOwn { get; }

        /// <summary>The name.</summary>
        /// <returns>The name.</returns>
        public override string ToString()
        {
            return Name;
        }

        internal static InstalledQueue Of(XElement listed)
        {
            string table = JsonAnswer.Text(listed, "table"), own = JsonAnswer.Text(listed, "own");
            return new InstalledQueue(
                JsonAnswer.Text(listed, "queue"), table, JsonAnswer.Text(listed, "description"), own == "true");
        }
    }
}
