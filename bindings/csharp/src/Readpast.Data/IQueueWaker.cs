namespace Readpast
{
    /// <summary>
    /// Has workers of the process look at a queue at once, after the commit of a transaction that has enqueued into it
    /// without the library.
    /// </summary>
    public interface IQueueWaker
    {
        /// <summary>Wakes those of a queue; of another queue, or one that is not open yet, it does nothing.</summary>
        /// <param name="queue">The queue's name.</param>
        void Wake(string queue);
    }
}
