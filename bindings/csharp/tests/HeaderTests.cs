using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.RegularExpressions;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>The assembly has what readpast.h has, with the same values, and nothing besides.</summary>
    public class HeaderTests
    {
        private const BindingFlags Fields = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

        /// <summary>The header's structs that are a number for a handle.</summary>
        private const string Handles = "config|queue|batch|receipts|renewal|error|worker|events|text";

        private static readonly Assembly Binding = typeof(Queue).Assembly;

        private static readonly string Header = Regex.Replace(
            File.ReadAllText(Environment.GetEnvironmentVariable("READPAST_HEADER")), @"//.*|/\*[\s\S]*?\*/",
            string.Empty);

        private static readonly Dictionary<string, int> Constants =
            Regex.Matches(Header, @"^#define READPAST_(\w+) (-?\d+)$", RegexOptions.Multiline)
                .Cast<Match>()
                .ToDictionary(
                    match => match.Groups[1].Value,
                    match => int.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture));

        [Fact]
        public void Enumerations()
        {
            Same<SettlementAction>("ACTION_");
            Same<ItemState>("STATE_");
            Same<ColumnType>("TYPE_");
            Same(Binding.GetType("Readpast.Native.EventKind", true), "EVENT_");
            string[] others = { "ACTION_", "STATE_", "TYPE_", "EVENT_", "VERSION_", "LOG_", "ABI" };
            Same(
                typeof(Status),
                Constants.Where(each => !others.Any(other => each.Key.StartsWith(other, StringComparison.Ordinal))), 0);
            Assert.True(Constants.Count > 60, "the header was not understood");
        }

        [Fact]
        public void StatusesAreCalledAsInTheHeader()
        {
            foreach (Status status in Enum.GetValues(typeof(Status)))
            {
                string name = ReadpastLibrary.NameOf(status);
                Assert.Equal((int)status, Constants[name.Substring("READPAST_".Length)]);
            }
            Assert.Equal("READPAST_?", ReadpastLibrary.NameOf((Status)12345));
            Assert.Equal("READPAST_?", ReadpastLibrary.NameOf((Status)(-12345)));
        }

        [Fact]
        public void VersionAndAbi()
        {
            Type library = Binding.GetType("Readpast.Native.Library", true);
            FieldInfo abi = library.GetField("Abi", BindingFlags.Static | BindingFlags.NonPublic);
            Assert.Equal(Constants["ABI"], abi.GetValue(null));
            Assert.Equal(Constants["ABI"], ReadpastLibrary.Abi);
            FieldInfo room = library.GetField("LogTextRoom", BindingFlags.Static | BindingFlags.NonPublic);
            Assert.Equal(Constants["LOG_TEXT_ROOM"], room.GetValue(null));
            Version version = Binding.GetName().Version;
            Assert.Equal(Constants["VERSION_MAJOR"], version.Major);
            Assert.Equal(Constants["VERSION_MINOR"], version.Minor);
            Assert.Equal(Constants["VERSION_PATCH"], version.Build);
            Assert.Equal(version.ToString(3), ReadpastLibrary.Version);
        }

        [Fact]
        public void Functions()
        {
            Dictionary<string, string[]> declared = Regex
                .Matches(Header, @"^(const char \*|\w+ )(readpast_\w+)\(([^)]*)\);", RegexOptions.Multiline)
                .Cast<Match>()
                .ToDictionary(
                    match => match.Groups[2].Value,
                    match => new[] { match.Groups[1].Value }.Concat(Parameters(match.Groups[3].Value)).ToArray());
            Assert.True(declared.Count > 40, "the header was not understood");
            // Tasks wait for items, and need no event loop.
            Assert.True(declared.Remove("readpast_worker_want"));

            Dictionary<string, MethodInfo> imported = Binding.GetTypes()
                .SelectMany(type => type.GetMethods(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public))
                .Where(method => (method.Attributes & MethodAttributes.PinvokeImpl) != 0)
                .ToDictionary(method => method.Name);
            Assert.Equivalent(declared.Keys, imported.Keys, strict: true);
            foreach (KeyValuePair<string, string[]> each in declared)
            {
                MethodInfo method = imported[each.Key];
                Assert.Equal(
                    each.Value.Select(Shape),
                    new[] { method.ReturnType }
                        .Concat(method.GetParameters().Select(parameter => parameter.ParameterType)).Select(Shape));
                var import = (DllImportAttribute)method.GetCustomAttributes(typeof(DllImportAttribute), false).Single();
                Assert.Equal(CallingConvention.Cdecl, import.CallingConvention);
            }
        }

        [Fact]
        public void Structs()
        {
            Match[] declared =
                Regex.Matches(Header, @"typedef struct \{([^}]*)\} readpast_(\w+);").Cast<Match>().ToArray();
            Assert.True(declared.Length > 10, "the header was not understood");
            var known = new List<string>();
            foreach (Match match in declared)
            {
                string name = match.Groups[2].Value;
                bool isHandle = Handles.Split('|').Contains(name);
                Type type = Binding.GetType("Readpast.Native." + (isHandle ? "Handle" : Pascal(name) + "Struct"), true);
                known.Add(type.Name);
                Assert.Equal(
                    match.Groups[1].Value.Split(';').Select(field => field.Trim()).Where(field => field != string.Empty)
                        .Select(FieldShape),
                    type.GetFields(Fields).OrderBy(field => (int)Marshal.OffsetOf(type, field.Name))
                        .Select(FieldShape));
            }
            Assert.Equivalent(
                known.Distinct(),
                Binding.GetTypes()
                    .Where(type => type.Namespace == "Readpast.Native" && type.IsLayoutSequential && !type.IsNested)
                    .Select(type => type.Name),
                strict: true);
        }

        [Fact]
        public void Figures()
        {
            SameFigures("WorkerFiguresStruct", typeof(WorkerFigures));
        }

        private static void SameFigures(string native, Type figures)
        {
            Assert.Equivalent(
                Binding.GetType("Readpast.Native." + native).GetFields(Fields)
                    .Select(field => field.Name).Where(name => name != "StructSize"),
                figures.GetProperties().Select(property => property.Name),
                strict: true);
        }

        private static void Same<T>(string prefix)
        {
            Same(typeof(T), prefix);
        }

        private static void Same(Type type, string prefix)
        {
            Same(type, Constants.Where(each => each.Key.StartsWith(prefix, StringComparison.Ordinal)), prefix.Length);
        }

        private static void Same(Type type, IEnumerable<KeyValuePair<string, int>> constants, int prefix)
        {
            Assert.Equivalent(
                constants.Select(each => Pascal(each.Key.Substring(prefix)) + " = " + each.Value),
                Enum.GetValues(type).Cast<object>().Select(
                    each => each + " = " + Convert.ToInt32(each, CultureInfo.InvariantCulture)),
                strict: true);
        }

        private static IEnumerable<string> Parameters(string list)
        {
            return list == "void"
                ? new string[0]
                : list.Split(',').Select(each => Regex.Replace(each.Trim(), @"\w+$", string.Empty));
        }

        /// <summary>How a C type is passed.</summary>
        private static string Shape(string type)
        {
            type = type.Trim();
            if (Regex.IsMatch(type, "^readpast_(" + Handles + @")( \*)?$"))
            {
                return type.EndsWith("*", StringComparison.Ordinal) ? "pointer" : "handle";
            }
            switch (type)
            {
                case "void": return "nothing";
                case "int32_t": case "readpast_status": return "int32";
                case "int64_t": return "int64";
                case "uint64_t": return "uint64";
                case "size_t": return "size";
                case "double": return "double";
                default:
                    Assert.EndsWith("*", type);
                    return "pointer";
            }
        }

        private static string Shape(Type type)
        {
            if (type == typeof(IntPtr) || type.IsPointer || type.IsByRef)
            {
                return "pointer";
            }
            switch (type.Name)
            {
                case "Void": return "nothing";
                case "Handle": return "handle";
                case "Int32": return "int32";
                case "Int64": return "int64";
                case "UInt64": return "uint64";
                case "UIntPtr": return "size";
                case "Double": return "double";
                default: throw new ArgumentException(type.FullName);
            }
        }

        private static string FieldShape(string declaration)
        {
            Match array = Regex.Match(declaration, @"^char (\w+)\[(\d+)\]$");
            if (array.Success)
            {
                return Pascal(array.Groups[1].Value) + " " + array.Groups[2].Value;
            }
            Match field = Regex.Match(declaration, @"^(.*?)(\w+)$", RegexOptions.Singleline);
            return Pascal(field.Groups[2].Value) + " " + Shape(field.Groups[1].Value);
        }

        private static string FieldShape(FieldInfo field)
        {
            object buffer = field.GetCustomAttributes(typeof(FixedBufferAttribute), false).SingleOrDefault();
            return field.Name + " " + (buffer == null
                ? Shape(field.FieldType)
                : ((FixedBufferAttribute)buffer).Length.ToString(CultureInfo.InvariantCulture));
        }

        /// <summary>TimedOut for TIMED_OUT, WaitP50Ms for wait_p50_ms.</summary>
        private static string Pascal(string name)
        {
            var text = new StringBuilder();
            foreach (string word in name.Split('_'))
            {
                text.Append(char.ToUpperInvariant(word[0])).Append(word.Substring(1).ToLowerInvariant());
            }
            return text.ToString();
        }
    }
}
