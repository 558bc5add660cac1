using System.Runtime.Serialization.Json;
using System.Text;
using System.Xml;
using System.Xml.Linq;

namespace Readpast
{
    /// <summary>Reads the library's JSON, without a package and without reflection.</summary>
    internal static class JsonAnswer
    {
        /// <summary>The document: each member is an element by its name, each of an array an "item".</summary>
        internal static XElement Read(string json)
        {
            byte[] utf8 = Encoding.UTF8.GetBytes(json);
            using (XmlReader reader = JsonReaderWriterFactory.CreateJsonReader(utf8, XmlDictionaryReaderQuotas.Max))
            {
                return XElement.Load(reader);
            }
        }

        /// <summary>A member's value as text; null where it is null, or not there.</summary>
        internal static string Text(XElement of, string member)
        {
            XElement value = of.Element(member);
            return value == null || (string)value.Attribute("type") == "null" ? null : value.Value;
        }
    }
}
