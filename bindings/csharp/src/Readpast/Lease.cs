using System;

namespace Readpast
{
    /// <summary>A lease to renew.</summary>
    public readonly struct Lease : IEquatable<Lease>
    {
        /// <summary>The lease of a claim.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="attempt">The attempt of the claim.</param>
        public Lease(string key, int attempt)
        {
            Key = key;
            Attempt = attempt;
        }

        /// <summary>The item's key.</summary>
        public string Key { get; }

        /// <summary>The attempt of the claim.</summary>
        public int Attempt { get; }

        /// <summary>Whether both are of the same claim.</summary>
        public static bool operator ==(Lease left, Lease right)
        {
            return left.Equals(right);
        }

        /// <summary>Whether they are of different claims.</summary>
        public static bool operator !=(Lease left, Lease right)
        {
            return !left.Equals(right);
        }

        /// <inheritdoc/>
        public bool Equals(Lease other)
        {
            return Key == other.Key && Attempt == other.Attempt;
        }

        /// <inheritdoc/>
        public override bool Equals(object obj)
        {
            return obj is Lease other && Equals(other);
        }

        /// <inheritdoc/>
        public override int GetHashCode()
        {
            return (Key, Attempt).GetHashCode();
        }
    }
}
