using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Threading;
using Request = System.Collections.Generic.IDictionary<string, object>;

namespace Conformance
{
    /// <summary>
    /// The adapter of the conformance suite for C#: tests/conformance/README.md describes what it is asked and how it
    /// answers. It reads one JSON object a line, makes the call, and writes one JSON object a line.
    /// </summary>
    internal static class Program
    {
        private static readonly JsonSerializerOptions Deep = new JsonSerializerOptions
        {
            MaxDepth = 1000,
            Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        };

        private static readonly Dictionary<string, Later> Calls = new Dictionary<string, Later>();

        /// <summary>The JSON of an object.</summary>
        internal static string Write(object value)
        {
            return JsonSerializer.Serialize(value, Deep);
        }

        internal static object Parse(string text)
        {
            using (JsonDocument document = JsonDocument.Parse(text, new JsonDocumentOptions { MaxDepth = 1000 }))
            {
                return Plain(document.RootElement);
            }
        }

        /// <summary>Numbers keep all their digits.</summary>
        private static object Plain(JsonElement value)
        {
            switch (value.ValueKind)
            {
                case JsonValueKind.Object:
                    var members = new Dictionary<string, object>();
                    foreach (JsonProperty member in value.EnumerateObject())
                    {
                        members[member.Name] = Plain(member.Value);
                    }
                    return members;
                case JsonValueKind.Array:
                    return value.EnumerateArray().Select(Plain).ToArray();
                case JsonValueKind.String:
                    return value.GetString();
                case JsonValueKind.Number:
                    return value.TryGetInt64(out long whole) ? whole
                        : value.TryGetDecimal(out decimal exact) ? exact
                        : (object)value.GetDouble();
                case JsonValueKind.Null:
                    return null;
                default:
                    return value.GetBoolean();
            }
        }

        private static int Main()
        {
            var utf8 = new UTF8Encoding(false);
            using (var input = new StreamReader(Console.OpenStandardInput(), utf8))
            using (var output = new StreamWriter(Console.OpenStandardOutput(), utf8) { AutoFlush = true })
            {
                for (string line; (line = input.ReadLine()) != null;)
                {
                    output.Write(Write(Answer((Request)Parse(line))) + "\n");
                }
            }
            Objects.FreeAll();
            return 0;
        }

        private static Dictionary<string, object> Answer(Request request)
        {
            if (request.ContainsKey("async"))
            {
                string name = (string)request["async"];
                Calls[name] = new Later(request);
                return new Dictionary<string, object> { { "status", "READPAST_OK" }, { "started", name } };
            }
            return (string)request["do"] == "await" ? Calls[(string)request["call"]].Wait() : Verbs.Call(request);
        }

        /// <summary>A call on a thread of its own, so that another call can meet it while it waits.</summary>
        private sealed class Later
        {
            private readonly Thread thread;
            private Dictionary<string, object> answer;

            internal Later(Request request)
            {
                thread = new Thread(() => answer = Verbs.Call(request));
                thread.Start();
            }

            internal Dictionary<string, object> Wait()
            {
                thread.Join();
                return answer;
            }
        }
    }
}
