namespace Readpast
{
    /// <summary>The fate of an item when one that it waits for ends in another way than completed.</summary>
    public enum OnFailed
    {
        /// <summary>It fails, and so do those that wait for it.</summary>
        Fail = 0,

        /// <summary>The other counts as done.</summary>
        Run = 1,

        /// <summary>It waits until the other is started again and completed.</summary>
        Wait = 2,
    }
}
