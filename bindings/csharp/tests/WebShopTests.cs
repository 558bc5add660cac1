#nullable enable
using System;
using System.Data.Common;
using System.Diagnostics;
using System.IO;
using System.Net.Http;
using System.Threading.Tasks;
using Xunit;

namespace Readpast.Tests;

/// <summary>A web program with EF Core, its worker in the same process: examples/web_shop.cs.</summary>
public class WebShopTests
{
    [Fact]
    public async Task AnOrderIsConfirmedByTheItemThatWasWrittenWithIt()
    {
        Assert.SkipWhen(OwnConnection.IsSqlServer, "the shop is on PostgreSQL");
        Assert.SkipWhen(OperatingSystem.IsWindows(), "the shop is not among what is published for Wine");
        Queue.Install(
            TestQueue.Options,
            "{\"queue\": \"ShopMail\", \"columns\": [{\"name\": \"Document\", \"type\": \"json\"}]}");
        using (DbConnection connection = OwnConnection.Open())
        using (DbCommand create = connection.CreateCommand())
        {
            create.CommandText =
                "CREATE TABLE IF NOT EXISTS shop_order (\"Id\" uuid PRIMARY KEY, \"Customer\" text NOT NULL, " +
                "\"ConfirmedAt\" timestamptz)";
            create.ExecuteNonQuery();
        }
        using Process shop = Start();
        try
        {
            using var client = new HttpClient { BaseAddress = await Address(shop), Timeout = Until.Patience };
            HttpResponseMessage ordered = await client.PostAsync("/orders/ada", null);
            string id = await ordered.EnsureSuccessStatusCode().Content.ReadAsStringAsync();
            Until.True(() => client.GetStringAsync("/orders/" + id).Result == "confirmed");
            Until.True(() => client.GetStringAsync("/health").Result == "Healthy");
        }
        finally
        {
            shop.Kill();
            await shop.WaitForExitAsync();
        }
    }

    private static Process Start()
    {
        string program = Path.Combine(AppContext.BaseDirectory, "..", "..", "web_shop", "release", "web_shop.dll");
        var start = new ProcessStartInfo("dotnet", new[] { program }) { RedirectStandardOutput = true };
        foreach (var setting in TestQueue.Options)
        {
            bool isConnection = setting.Key == "connection";
            start.Environment[isConnection ? "Readpast__Connection" : "Readpast__Settings__" + setting.Key] =
                setting.Value;
        }
        start.Environment["ConnectionStrings__Shop"] = OwnConnection.Text;
        start.Environment["ASPNETCORE_URLS"] = "http://127.0.0.1:0";
        return Process.Start(start)!;
    }

    /// <summary>The port is the system's choice, and the program logs it.</summary>
    private static async Task<Uri> Address(Process shop)
    {
        while (await shop.StandardOutput.ReadLineAsync() is string line)
        {
            int place = line.IndexOf("http://127.0.0.1:", StringComparison.Ordinal);
            if (place >= 0)
            {
                _ = shop.StandardOutput.ReadToEndAsync();
                return new Uri(line.Substring(place).Trim());
            }
        }
        throw new InvalidOperationException("the shop ended before it listened");
    }
}
