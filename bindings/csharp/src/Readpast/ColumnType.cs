namespace Readpast
{
    /// <summary>The type of a column.</summary>
    public enum ColumnType
    {
        /// <summary>True or false: a <see cref="bool"/>.</summary>
        Boolean = 1,

        /// <summary>A whole number of up to 64 bits: a <see cref="long"/>.</summary>
        Integer = 2,

        /// <summary>A binary floating point number: a <see cref="double"/>.</summary>
        Float = 3,

        /// <summary>An exact decimal number: a <see cref="decimal"/> where it fits, always exact as text.</summary>
        Decimal = 4,

        /// <summary>Text: a <see cref="string"/>.</summary>
        Text = 5,

        /// <summary>Bytes: a <see cref="byte"/> array.</summary>
        Binary = 6,

        /// <summary>A date and time: a <see cref="System.DateTime"/> in UTC.</summary>
        Timestamp = 7,

        /// <summary>A date: a <see cref="System.DateTime"/> at midnight, of no kind.</summary>
        Date = 8,

        /// <summary>A GUID: a <see cref="System.Guid"/>.</summary>
        Guid = 9,

        /// <summary>
        /// A JSON document, as it is stored: a <see cref="string"/>. What others wrote there need not be JSON.
        /// </summary>
        Json = 10,
    }
}
