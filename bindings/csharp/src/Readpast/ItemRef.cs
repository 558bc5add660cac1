using System;

namespace Readpast
{
    /// <summary>An item, by its key.</summary>
    public readonly struct ItemRef : IEquatable<ItemRef>
    {
        /// <summary>An item, whatever its token is, or only with this one.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="token">The token the item had when the caller saw it; null: whatever it is.</param>
        public ItemRef(string key, string token = null)
        {
            Key = key;
            Token = token;
        }

        /// <summary>The item's key.</summary>
        public string Key { get; }

        /// <summary>The token, or null.</summary>
        public string Token { get; }

        /// <summary>Whether both name the same item and token.</summary>
        public static bool operator ==(ItemRef left, ItemRef right)
        {
            return left.Equals(right);
        }

        /// <summary>Whether they differ in the item or the token.</summary>
        public static bool operator !=(ItemRef left, ItemRef right)
        {
            return !left.Equals(right);
        }

        /// <inheritdoc/>
        public bool Equals(ItemRef other)
        {
            return Key == other.Key && Token == other.Token;
        }

        /// <inheritdoc/>
        public override bool Equals(object obj)
        {
            return obj is ItemRef other && Equals(other);
        }

        /// <inheritdoc/>
        public override int GetHashCode()
        {
            return (Key, Token).GetHashCode();
        }
    }
}
