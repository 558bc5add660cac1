using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using NUnit.Framework;

/// <summary>
/// Runs the tests on .NET, where NUnit 2's own runners do not start: what our tests use of NUnit, and no more.
/// Whatever else a test asks for by an attribute fails the run.
/// </summary>
internal static class Runner
{
    private static readonly Type[] Known =
    {
        typeof(TestAttribute), typeof(TestCaseAttribute), typeof(TestCaseSourceAttribute), typeof(SetUpAttribute),
        typeof(TearDownAttribute), typeof(TestFixtureSetUpAttribute), typeof(TestFixtureTearDownAttribute),
    };

    private static int passed;
    private static int failed;
    private static int leftOut;

    private static int Main(string[] arguments)
    {
        foreach (Type fixture in Assembly.Load("Readpast.Tests").GetTypes().OrderBy(type => type.FullName))
        {
            if (fixture.IsDefined(typeof(TestFixtureAttribute), false))
            {
                RunFixture(fixture, arguments);
            }
        }
        Console.WriteLine("{0} passed, {1} failed, {2} left out", passed, failed, leftOut);
        return failed == 0 && passed > 0 ? 0 : 1;
    }

    private static void RunFixture(Type fixture, string[] names)
    {
        object tests = Activator.CreateInstance(fixture);
        MethodInfo[] methods = fixture.GetMethods(
            BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic);
        RunEach<TestFixtureSetUpAttribute>(methods, tests);
        foreach (MethodInfo method in methods)
        {
            CheckAttributes(method);
            foreach (object[] values in CasesOf(method, fixture, tests))
            {
                string name = fixture.Name + "." + method.Name + "(" + string.Join(", ", values) + ")";
                if (names.Length == 0 || names.Any(name.Contains))
                {
                    RunTest(name, methods, tests, method, values);
                }
            }
        }
        RunEach<TestFixtureTearDownAttribute>(methods, tests);
    }

    private static void CheckAttributes(MethodInfo method)
    {
        foreach (Attribute attribute in method.GetCustomAttributes())
        {
            bool isOfNUnit = attribute.GetType().Assembly == typeof(TestAttribute).Assembly;
            if (isOfNUnit && !Known.Contains(attribute.GetType()))
            {
                throw new NotSupportedException(method.Name + ": " + attribute.GetType().Name);
            }
        }
    }

    private static IEnumerable<object[]> CasesOf(MethodInfo method, Type fixture, object tests)
    {
        if (method.IsDefined(typeof(TestAttribute), false))
        {
            yield return new object[0];
        }
        foreach (TestCaseAttribute one in method.GetCustomAttributes<TestCaseAttribute>())
        {
            yield return one.Arguments;
        }
        foreach (TestCaseSourceAttribute source in method.GetCustomAttributes<TestCaseSourceAttribute>())
        {
            const BindingFlags Any =
                BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
            MemberInfo member = fixture.GetMember(source.SourceName, Any).Single();
            object cases = member is FieldInfo field ? field.GetValue(tests)
                : member is PropertyInfo property ? property.GetValue(tests)
                : ((MethodInfo)member).Invoke(tests, null);
            foreach (object one in (System.Collections.IEnumerable)cases)
            {
                yield return one is TestCaseData data ? data.Arguments : one as object[] ?? new[] { one };
            }
        }
    }

    private static void RunTest(
        string name, MethodInfo[] methods, object tests, MethodInfo method, object[] values)
    {
        Exception wrong = null;
        try
        {
            RunEach<SetUpAttribute>(methods, tests);
            method.Invoke(tests, values.Select((value, index) => Fit(value, method.GetParameters()[index])).ToArray());
        }
        catch (TargetInvocationException invocation)
        {
            wrong = invocation.InnerException;
        }
        try
        {
            RunEach<TearDownAttribute>(methods, tests);
        }
        catch (TargetInvocationException invocation)
        {
            wrong = wrong ?? invocation.InnerException;
        }
        if (wrong == null || wrong is SuccessException)
        {
            passed++;
            return;
        }
        if (wrong is IgnoreException)
        {
            leftOut++;
            Console.WriteLine("left out: {0}: {1}", name, wrong.Message);
            return;
        }
        failed++;
        Console.WriteLine("FAILED {0}\n{1}\n", name, wrong);
    }

    /// <summary>An attribute holds no decimal and no long where an int will do.</summary>
    private static object Fit(object value, ParameterInfo parameter)
    {
        Type type = parameter.ParameterType;
        return value is IConvertible && !type.IsEnum && !type.IsInstanceOfType(value)
            ? Convert.ChangeType(value, type, System.Globalization.CultureInfo.InvariantCulture)
            : value;
    }

    private static void RunEach<T>(MethodInfo[] methods, object tests) where T : Attribute
    {
        foreach (MethodInfo method in methods.Where(method => method.IsDefined(typeof(T), false)))
        {
            method.Invoke(tests, null);
        }
    }
}
