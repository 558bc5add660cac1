using System;
using System.Collections.Generic;
using System.Data.Common;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Readpast;

// A worker service on SqlClient alone, without the native library. Its work is in the database too: booking, notice and
// the end of the item are committed together or not at all. ConnectionStrings__Bank names the database.
HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Services.AddHostedService<TransferService>();
await builder.Build().RunAsync();

internal sealed class TransferService(IConfiguration configuration, ILogger<TransferService> logger)
    : BackgroundService
{
    private static readonly string Worker = Environment.MachineName + "/" + Environment.ProcessId;

    protected override async Task ExecuteAsync(CancellationToken stopping)
    {
        while (!stopping.IsCancellationRequested)
        {
            await using var connection = new SqlConnection(configuration.GetConnectionString("Bank"));
            await connection.OpenAsync(stopping);
            if (!await WorkAsync(connection, stopping))
            {
                await Task.Delay(TimeSpan.FromSeconds(1), stopping);
            }
        }
    }

    /// <summary>Whether an item was due. Its work has to be done within the queue's lease.</summary>
    private async Task<bool> WorkAsync(DbConnection connection, CancellationToken stopping)
    {
        IReadOnlyList<TransactionItem> items;
        await using (DbTransaction claim = await connection.BeginTransactionAsync(stopping))
        {
            items = await connection.ClaimAsync("Transfer", Worker, claim, 1, stopping);
            await claim.CommitAsync(stopping);
        }
        foreach (TransactionItem item in items)
        {
            try
            {
                await TransferAsync(connection, item);
            }
            catch (Exception exception)
            {
                logger.LogWarning(exception, "The transfer {Key} failed", item.Key);
                await using DbTransaction failed = await connection.BeginTransactionAsync(CancellationToken.None);
                await connection.SettleAsync("Transfer", Worker, item.Retry(exception.Message), failed);
                await failed.CommitAsync(CancellationToken.None);
            }
        }
        return items.Count > 0;
    }

    private static async Task TransferAsync(DbConnection connection, TransactionItem item)
    {
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        await using (DbCommand book = connection.CreateCommand())
        {
            book.Transaction = transaction;
            book.CommandText = "UPDATE dbo.account SET balance = balance - @amount WHERE id = 1";
            book.Parameters.Add(new SqlParameter("@amount", item["amount"]));
            await book.ExecuteNonQueryAsync();
        }
        var notice = new Dictionary<string, object?> { { "amount", item["amount"] } };
        await connection.EnqueueAsync("Notice", new NewItem(notice), transaction);
        Outcome outcome = await connection.SettleAsync("Transfer", Worker, item.Complete(), transaction);
        if (outcome.Answer == Status.Ok)
        {
            await transaction.CommitAsync();
        }
        // Else somebody else has the item by now: the work is undone with the transaction.
    }
}
