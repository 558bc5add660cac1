#nullable enable
using System;
using System.Collections.Generic;
using System.Data.Common;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.EntityFrameworkCore;
using Microsoft.EntityFrameworkCore.Diagnostics;
using Microsoft.EntityFrameworkCore.Infrastructure;
using Microsoft.EntityFrameworkCore.Storage;
using Npgsql;
using Xunit;

namespace Readpast.Tests;

/// <summary>Items that EF Core's SaveChanges enqueues.</summary>
public sealed class SavingTests : IDisposable
{
    private readonly Queue queue = TestQueue.Open();
    private readonly QueueName place;
    private readonly List<string> woken = new();

    public SavingTests()
    {
        place = new QueueName(queue.Name, "readpast_csharp");
        using DbConnection connection = OwnConnection.Open();
        using DbCommand create = connection.CreateCommand();
        create.CommandText = "CREATE TABLE readpast_csharp." + Table + " (Id int NOT NULL PRIMARY KEY)";
        if (!OwnConnection.IsSqlServer)
        {
            create.CommandText = create.CommandText.Replace("Id", "\"Id\"");
        }
        create.ExecuteNonQuery();
    }

    private string Table => "sale_of_" + queue.Name.ToLowerInvariant();

    public void Dispose()
    {
        queue.Dispose();
    }

    [Fact]
    public async Task TheOrderAndItsItemAreSavedTogetherOrNotAtAll()
    {
        await using Shop shop = Open();
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "one"));
        await shop.SaveChangesAsync();
        Assert.Equal(new[] { "one" }, TestQueue.Column(queue, "Payload"));
        Assert.Equal(new[] { queue.Name }, woken);

        await using Shop other = Open();
        Sale second = other.Add(new Sale { Id = 1 }).Entity;
        other.Enqueue(place, TestQueue.With("Payload", "two"));
        await Assert.ThrowsAsync<DbUpdateException>(() => other.SaveChangesAsync());
        Assert.Single(TestQueue.Column(queue, "Payload"));

        // As with entities, another try saves what is there.
        other.Entry(second).State = EntityState.Detached;
        other.Add(new Sale { Id = 2 });
        await other.SaveChangesAsync();
        await other.SaveChangesAsync();
        Assert.Equal(new[] { "one", "two" }, TestQueue.Column(queue, "Payload"));
        Assert.Equal(2, await other.Sales.CountAsync());
        Assert.Equal(AutoTransactionBehavior.WhenNeeded, other.Database.AutoTransactionBehavior);
    }

    [Fact]
    public void ItemsAloneAreSavedByBlockingCallsToo()
    {
        using Shop shop = Open();
        shop.Enqueue(place, TestQueue.With("Payload", "a"));
        shop.Enqueue(place, TestQueue.With("Payload", "b"));
        shop.SaveChanges();
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "c"));
        shop.SaveChanges();
        Assert.Equal(new[] { "a", "b", "c" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task AnItemThatIsRefusedUndoesTheSave()
    {
        await using Shop shop = Open();
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Nonesuch", 1));
        var refused = await Assert.ThrowsAsync<QueueException>(() => shop.SaveChangesAsync());
        Assert.Equal(Status.InvalidItem, refused.Status);
        await using Shop other = Open();
        Assert.Equal(0, await other.Sales.CountAsync());
    }

    [Fact]
    public async Task TheProgramsOwnTransactionCountsAndTakesItsItemsWithIt()
    {
        await using Shop shop = Open();
        await using (var undone = await shop.Database.BeginTransactionAsync())
        {
            shop.Enqueue(place, TestQueue.With("Payload", "undone"));
            await shop.SaveChangesAsync();
            await undone.RollbackAsync();
        }
        await using (var kept = await shop.Database.BeginTransactionAsync())
        {
            shop.Enqueue(place, TestQueue.With("Payload", "kept"));
            await shop.SaveChangesAsync();
            Assert.Equal(0, queue.Stats().Pending);
            shop.Enqueue(place, TestQueue.With("Payload", "late"));
            Assert.Empty(woken);
            await kept.CommitAsync();
        }
        Assert.Equal(new[] { "kept", "late" }, TestQueue.Column(queue, "Payload"));
        Assert.Equal(new[] { queue.Name }, woken);
    }

    [Fact]
    public async Task ATransactionThatIsCommittedWithoutEfCoreHasItsItems()
    {
        await using Shop shop = Open();
        await shop.Database.OpenConnectionAsync();
        DbConnection connection = shop.Database.GetDbConnection();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            await shop.Database.UseTransactionAsync(transaction);
            shop.Add(new Sale { Id = 1 });
            shop.Enqueue(place, TestQueue.With("Payload", "raw"));
            await shop.SaveChangesAsync();
            await transaction.CommitAsync();
            await shop.Database.UseTransactionAsync(null);
        }
        Assert.Equal(new[] { "raw" }, TestQueue.Column(queue, "Payload"));
        await shop.SaveChangesAsync();
        Assert.Single(TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task ACommitWhoseAnswerIsLostIsMadeAgainAndAddsNothing()
    {
        Assert.SkipWhen(OwnConnection.IsSqlServer, "the strategy of Npgsql is the one that is tried");
        var losing = new LosingInterceptor();
        await using Shop shop = Open(losing, retries: true);
        shop.Enqueue(place, TestQueue.With("Payload", "once"));
        await shop.SaveChangesAsync();
        Assert.Equal(2, losing.Commits);
        Assert.Equal(new[] { "once" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task AContextThatGoesBackToItsPoolForgetsItsItems()
    {
        var factory = new PooledDbContextFactory<Shop>(Options());
        await using (Shop shop = await factory.CreateDbContextAsync())
        {
            shop.Enqueue(place, TestQueue.With("Payload", "forgotten"));
        }
        await using (Shop shop = await factory.CreateDbContextAsync())
        {
            await shop.SaveChangesAsync();
        }
        Assert.Equal(0, queue.Stats().Pending);
    }

    [Fact]
    public void AContextWithoutTheOptionSaysSo()
    {
        using var shop = new Shop(Provider(new DbContextOptionsBuilder<Shop>(), false).Options, Table);
        var mistake = Assert.Throws<InvalidOperationException>(() => shop.Enqueue(place, new NewItem()));
        Assert.Contains("UseReadpast", mistake.Message);
    }

    [Fact]
    public async Task AnOptionThatIsSetTwiceEnqueuesOnceAndWakesBoth()
    {
        var others = new List<string>();
        var builder = new DbContextOptionsBuilder<Shop>(Options());
        builder.UseReadpast(others.Add).UseReadpast();
        await using var shop = new Shop(builder.Options, Table);
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "once"));
        await shop.SaveChangesAsync();
        Assert.Equal(new[] { "once" }, TestQueue.Column(queue, "Payload"));
        Assert.Equal((queue.Name, queue.Name), (Assert.Single(woken), Assert.Single(others)));
    }

    [Fact]
    public void AWakeThatThrowsFailsNoSaveAndKeepsNoOtherFromItsWake()
    {
        DbContextOptionsBuilder<Shop> builder = Provider(new DbContextOptionsBuilder<Shop>(), false);
        builder.UseReadpast(_ => throw new InvalidOperationException("nobody to wake")).UseReadpast(woken.Add);
        using var shop = new Shop(builder.Options, Table);
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "a"));
        Assert.Equal(1, shop.SaveChanges());
        Assert.Equal(queue.Name, Assert.Single(woken));
        Assert.Equal(new[] { "a" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task ItemsOfAFailedSaveGoWhenTheirEntitiesAreCleared()
    {
        await using Shop shop = Open();
        shop.Add(new Sale { Id = 1 });
        await shop.SaveChangesAsync();
        shop.ChangeTracker.Clear();
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "never"));
        await Assert.ThrowsAsync<DbUpdateException>(() => shop.SaveChangesAsync());
        shop.ChangeTracker.Clear();
        shop.Add(new Sale { Id = 2 });
        shop.Enqueue(place, TestQueue.With("Payload", "later"));
        await shop.SaveChangesAsync();
        Assert.Equal(new[] { "later" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task AnItemThatIsRefusedAloneIsForgotten()
    {
        await using Shop shop = Open();
        shop.Enqueue(place, TestQueue.With("Nonesuch", 1));
        await Assert.ThrowsAsync<QueueException>(() => shop.SaveChangesAsync());
        shop.Enqueue(place, TestQueue.With("Nonesuch", 2));
        Assert.Throws<QueueException>(() => shop.SaveChanges());
        shop.Enqueue(place, TestQueue.With("Payload", "good"));
        await shop.SaveChangesAsync();
        Assert.Equal(new[] { "good" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task ItemsThatAreInTheTransactionStayThereOnceWhenOthersFail()
    {
        await using Shop shop = Open();
        await using var transaction = await shop.Database.BeginTransactionAsync();
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "once"));
        // Its time is found wrong before it is sent, so the transaction lives on.
        shop.Enqueue(new QueueName("Other", "readpast_csharp"), new NewItem { Delay = TimeSpan.FromSeconds(-1) });
        await Assert.ThrowsAsync<ArgumentException>(() => shop.SaveChangesAsync());
        await Assert.ThrowsAsync<ArgumentException>(() => shop.SaveChangesAsync());
        await transaction.GetDbTransaction().CommitAsync();
        Assert.Equal(new[] { "once" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public void AnItemIsEnqueuedAsItWasWhenItWasGiven()
    {
        using Shop shop = Open();
        var item = new NewItem();
        foreach (string payload in new[] { "a", "b" })
        {
            item.ColumnsJson = "{\"Payload\": \"" + payload + "\"}";
            shop.Enqueue(place, item);
        }
        shop.SaveChanges();
        Assert.Equal(new[] { "a", "b" }, TestQueue.Column(queue, "Payload"));
    }

    [Fact]
    public async Task ASaveThatIsCancelledLeavesTheContextAsItWas()
    {
        var cancelling = new CancellingInterceptor();
        await using Shop shop = Open(cancelling);
        shop.Add(new Sale { Id = 1 });
        shop.Enqueue(place, TestQueue.With("Payload", "a"));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => shop.SaveChangesAsync(cancelling.Source.Token));
        Assert.Equal(AutoTransactionBehavior.WhenNeeded, shop.Database.AutoTransactionBehavior);
        Assert.Equal(0, queue.Stats().Pending);
        await shop.SaveChangesAsync();
        Assert.Equal(new[] { "a" }, TestQueue.Column(queue, "Payload"));
    }

    private Shop Open(IInterceptor? interceptor = null, bool retries = false)
    {
        return new Shop(Options(interceptor, retries), Table);
    }

    private DbContextOptions<Shop> Options(IInterceptor? interceptor = null, bool retries = false)
    {
        var builder = Provider(new DbContextOptionsBuilder<Shop>(), retries);
        builder.UseReadpast(woken.Add);
        if (interceptor != null)
        {
            builder.AddInterceptors(interceptor);
        }
        return builder.Options;
    }

    private static DbContextOptionsBuilder<Shop> Provider(DbContextOptionsBuilder<Shop> builder, bool retries)
    {
        if (OwnConnection.IsSqlServer)
        {
            builder.UseSqlServer(OwnConnection.Text);
        }
        else if (retries)
        {
            builder.UseNpgsql(OwnConnection.Text, npgsql => npgsql.EnableRetryOnFailure(3));
        }
        else
        {
            builder.UseNpgsql(OwnConnection.Text);
        }
        return (DbContextOptionsBuilder<Shop>)builder.ReplaceService<IModelCacheKeyFactory, KeyWithTable>();
    }

    /// <summary>An order.</summary>
    internal sealed class Sale
    {
        public int Id { get; set; }
    }

    /// <summary>The context of a program.</summary>
    internal sealed class Shop : DbContext
    {
        public Shop(DbContextOptions<Shop> options)
            : this(options, "none")
        {
        }

        internal Shop(DbContextOptions<Shop> options, string table)
            : base(options)
        {
            Table = table;
        }

        internal string Table { get; }

        internal DbSet<Sale> Sales => Set<Sale>();

        protected override void OnModelCreating(ModelBuilder modelBuilder)
        {
            modelBuilder.Entity<Sale>(sale =>
            {
                sale.ToTable(Table, "readpast_csharp");
                sale.Property(each => each.Id).ValueGeneratedNever();
            });
        }
    }

    /// <summary>Each test has a table of its own, and so a model.</summary>
    private sealed class KeyWithTable : IModelCacheKeyFactory
    {
        public object Create(DbContext context, bool designTime)
        {
            return (((Shop)context).Table, designTime);
        }
    }

    /// <summary>Cancels the save when it is about to commit.</summary>
    private sealed class CancellingInterceptor : DbTransactionInterceptor
    {
        internal CancellationTokenSource Source { get; } = new();

        public override async ValueTask<InterceptionResult> TransactionCommittingAsync(
            DbTransaction transaction, TransactionEventData eventData, InterceptionResult result,
            CancellationToken cancellationToken = default)
        {
            await Source.CancelAsync();
            cancellationToken.ThrowIfCancellationRequested();
            return result;
        }
    }

    /// <summary>Commits the first time, and has the connection break before the answer comes.</summary>
    private sealed class LosingInterceptor : DbTransactionInterceptor
    {
        internal int Commits { get; private set; }

        public override async ValueTask<InterceptionResult> TransactionCommittingAsync(
            DbTransaction transaction, TransactionEventData eventData, InterceptionResult result,
            CancellationToken cancellationToken = default)
        {
            if (++Commits == 1)
            {
                await transaction.CommitAsync(cancellationToken);
                throw new NpgsqlException("the answer is lost", new TimeoutException());
            }
            return result;
        }
    }
}
