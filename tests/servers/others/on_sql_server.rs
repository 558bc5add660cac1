//! The same on SQL Server.

use super::text_of;
use readpast::discover::discover;
use readpast::item::Action;
use readpast::{ItemState, Queue, QueueSpec, adopt};
use std::time::Duration;
use support::both::Database;
use support::scratch::all;

/// A queue's name, its description, its verdict, its tables with 20 rows that wait, and how many rows are none of readpast's.
const TABLES: [(&str, &str, &str, &str); 5] = [
    (
        "NServiceBus",
        "nservicebus",
        "drain instead",
        "CREATE TABLE [dbo].[Sales] (Id uniqueidentifier NOT NULL, CorrelationId varchar(255), ReplyToAddress varchar(255), Recoverable bit NOT NULL,
    Expires datetime, Headers nvarchar(max) NOT NULL, Body varbinary(max), RowVersion bigint IDENTITY(1, 1) NOT NULL)
GO
CREATE CLUSTERED INDEX Index_RowVersion ON [dbo].[Sales] (RowVersion)
GO
INSERT INTO [dbo].[Sales] (Id, Recoverable, Headers, Body) SELECT NEWID(), 1, N'{}', 0x7B7D FROM [dbo].[numbers]",
    ),
    (
        "Hangfire",
        "hangfire_sql_server",
        "read figures only",
        "CREATE SCHEMA [HangFire]
GO
CREATE TABLE [HangFire].[JobQueue] (Id bigint IDENTITY(1, 1) NOT NULL, JobId bigint NOT NULL, Queue nvarchar(50) NOT NULL, FetchedAt datetime NULL,
    CONSTRAINT PK_HangFire_JobQueue PRIMARY KEY CLUSTERED (Queue ASC, Id ASC))
GO
INSERT INTO [HangFire].[JobQueue] (JobId, Queue) SELECT n, N'default' FROM [dbo].[numbers]",
    ),
    (
        "DurableTask",
        "durable_task",
        "read figures only",
        "CREATE SCHEMA [dt]
GO
CREATE TABLE [dt].[NewTasks] (TaskHub varchar(50) NOT NULL, SequenceNumber bigint IDENTITY(1, 1) NOT NULL, InstanceID varchar(100) NOT NULL,
    ExecutionID varchar(50) NULL, Name varchar(300) NULL, TaskID int NOT NULL, [Timestamp] datetime2 NOT NULL DEFAULT SYSUTCDATETIME(),
    VisibleTime datetime2 NULL, DequeueCount int NOT NULL DEFAULT 0, LockedBy varchar(100) NULL, LockExpiration datetime2 NULL,
    PayloadID uniqueidentifier NULL, Version varchar(100) NULL, CONSTRAINT PK_NewTasks PRIMARY KEY (TaskHub, SequenceNumber))
GO
INSERT INTO [dt].[NewTasks] (TaskHub, InstanceID, TaskID) SELECT 'dbo', 'i', n FROM [dbo].[numbers]",
    ),
    (
        "CAP",
        "cap_sql_server",
        "read figures only",
        "CREATE SCHEMA [cap]
GO
CREATE TABLE [cap].[Published] ([Id] bigint NOT NULL, [Version] nvarchar(20) NOT NULL, [Name] nvarchar(200) NOT NULL, [Content] nvarchar(max) NULL,
    [Retries] int NOT NULL, [Added] datetime2(7) NOT NULL, [ExpiresAt] datetime2(7) NULL, [StatusName] nvarchar(50) NOT NULL,
    CONSTRAINT [PK_cap_Published] PRIMARY KEY CLUSTERED ([Id]))
GO
INSERT INTO [cap].[Published] ([Id], [Version], [Name], [Retries], [Added], [StatusName])
SELECT n, N'v1', N'mail', 0, SYSUTCDATETIME(), CASE WHEN n % 2 = 0 THEN N'Scheduled' ELSE N'Failed' END FROM [dbo].[numbers]",
    ),
    (
        "MassTransit",
        "mass_transit_sql_server",
        "read figures only",
        "CREATE SCHEMA [transport]
GO
CREATE TABLE [transport].[MessageDelivery] (MessageDeliveryId bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY, TransportMessageId uniqueidentifier NOT NULL,
    QueueId bigint NOT NULL, Priority smallint NOT NULL, EnqueueTime datetime2 NOT NULL, ExpirationTime datetime2 NULL,
    PartitionKey nvarchar(128) NULL, RoutingKey nvarchar(256) NULL, ConsumerId uniqueidentifier NULL, LockId uniqueidentifier NULL,
    DeliveryCount int NOT NULL, MaxDeliveryCount int NOT NULL, LastDelivered datetime2 NULL, TransportHeaders nvarchar(max) NULL)
GO
INSERT INTO [transport].[MessageDelivery] (TransportMessageId, QueueId, Priority, EnqueueTime, DeliveryCount, MaxDeliveryCount)
SELECT NEWID(), 1, 100, SYSUTCDATETIME(), 0, 10 FROM [dbo].[numbers]",
    ),
];

#[test]
fn queues_on_sql_server_are_named_and_adopted() {
    for database in Database::each().into_iter().filter(Database::is_sql_server) {
        database.run("CREATE TABLE [dbo].[numbers] (n int NOT NULL PRIMARY KEY)");
        database.run(&format!(
            "INSERT INTO [dbo].[numbers] (n) VALUES {}",
            (1..=20).map(|n| format!("({n})")).collect::<Vec<_>>().join(", ")
        ));
        for (name, spec, verdict, tables) in TABLES {
            database.run(tables);
            let report = discover(&database.config(&[])).unwrap();
            let found = report
                .tables
                .iter()
                .find(|table| table.system == Some(name))
                .unwrap_or_else(|| panic!("{name}: {report:#?}"));
            assert!(found.verdict.unwrap().starts_with(verdict), "{found:#?}");
            let spec = QueueSpec::from_text(text_of(spec)).unwrap();
            let plan = adopt::plan(&database.config(&[]), &spec).unwrap();
            assert!(plan.is_possible(), "{name}: {:#?}", plan.findings);
            plan.apply(&database.config(&[])).unwrap();
            let queue = Queue::open(&database.config(&[("worker", "w")]), spec.queue.as_str()).unwrap();
            assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 20, "{name}");
            if verdict == "drain instead" {
                let batch = queue.claim(100, Duration::ZERO).unwrap();
                assert_eq!(batch.len(), 20, "{name}");
                queue.settle(&all(&batch, Action::Complete), None).unwrap();
                assert_eq!(database.look("SELECT COUNT(*) FROM [dbo].[Sales]"), "0");
            }
        }
    }
}
