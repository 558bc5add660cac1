{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
{% import "macro/index.sql" as index_of -%}
{% filter statement %}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
{% endfilter %}
{% filter made("SCHEMA", schema_name) %}
/*
The vocabulary and the book-keeping that every queue of this schema shares.
Table access order in all procedures: QueueOperation, then the queue's table, then QueueTransition.
*/
IF SCHEMA_ID({{ text(schema_name) }}) IS NULL
BEGIN
    /*
    It belongs to dbo where the login may give it to dbo: what procedures here may do with tables of the schema dbo follows
    from both having one owner, else who only executes them is refused.
    */
    IF IS_ROLEMEMBER(N'db_owner') = 1
        EXECUTE (N'CREATE SCHEMA {{ schema | replace("'", "''") }} AUTHORIZATION [dbo]');
    ELSE
        EXECUTE (N'CREATE SCHEMA {{ schema | replace("'", "''") }}');
END;
{% endfilter %}
{% filter made("TABLE", [
    "QueueSchemaVersion", "QueueSpec", "AppSettings", "QueueStatus", "QueueTransition",
    "QueueOperation", "QueueTypeAccess", "QueueRecovery", "QueueLifeline", "QueueRefused", "QueuePause", "QueueAction",
    "QueueWorker", "QueueMinute",
]) %}
/* One row per version that was applied here: an audit trail, never updated. */
IF OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueSchemaVersion") }} (
        [Version] int NOT NULL, [AppliedAt] datetime2(7) NOT NULL, [Library] varchar(20) NOT NULL,
        CONSTRAINT [PK_QueueSchemaVersion] PRIMARY KEY CLUSTERED ([Version])
    );
/* The queues of this schema, each with the specification it was rendered from. */
IF OBJECT_ID({{ literal("QueueSpec") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueSpec") }} (
        [Queue] varchar(40) NOT NULL, [Preset] varchar(20) NOT NULL, [Spec] nvarchar(max) NOT NULL,
        [RenderedBy] int NOT NULL, [InstalledAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueSpec] PRIMARY KEY CLUSTERED ([Queue])
    );
/* Settings that procedures read, such as notification.maxAttempts. */
IF OBJECT_ID({{ literal("AppSettings") }}, N'U') IS NULL
    CREATE TABLE {{ object("AppSettings") }} (
        [Param] varchar(100) NOT NULL, [ValInt] int NULL, [ValText] nvarchar(400) NULL,
        CONSTRAINT [PK_AppSettings] PRIMARY KEY CLUSTERED ([Param])
    );
IF OBJECT_ID({{ literal("QueueStatus") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueStatus") }} (
        [Status] varchar(20) NOT NULL, CONSTRAINT [PK_QueueStatus] PRIMARY KEY CLUSTERED ([Status])
    );
INSERT INTO {{ object("QueueStatus") }} ([Status])
SELECT v.[Status]
FROM (VALUES
    ('Pending'), ('Processing'), ('Error'), ('Paused'), /* unfinished; Error is tried again */
    ('Completed'), ('PartiallyCompleted'), ('Failed'), ('Cancelled'), ('Terminated') /* finished; Failed: attempts spent, or given up */
) AS v ([Status])
WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueStatus") }} AS s WHERE s.[Status] = v.[Status]);
/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
IF OBJECT_ID({{ literal("QueueTransition") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueTransition") }} (
        [FromStatus] varchar(20) NOT NULL, [ToStatus] varchar(20) NOT NULL,
        CONSTRAINT [PK_QueueTransition] PRIMARY KEY CLUSTERED ([FromStatus], [ToStatus])
    );
INSERT INTO {{ object("QueueTransition") }} ([FromStatus], [ToStatus])
SELECT f.[FromStatus], t.[value]
FROM (VALUES
    ('Pending', N'["Processing", "Failed", "Cancelled", "Paused", "Terminated"]'),
    (
        'Processing',
        N'["Processing", "Pending", "Error", "Failed", "Completed", "PartiallyCompleted", "Cancelled", "Paused", "Terminated"]'
    ),
    ('Error', N'["Processing", "Pending", "Failed", "Cancelled", "Paused", "Terminated"]'),
    ('Paused', N'["Processing", "Pending", "Failed", "Cancelled", "Terminated"]'),
    ('Failed', N'["Cancelled"]')
) AS f ([FromStatus], [To])
CROSS APPLY OPENJSON(f.[To]) AS t
WHERE NOT EXISTS (
    SELECT 1 FROM {{ object("QueueTransition") }} AS q WHERE q.[FromStatus] = f.[FromStatus] AND q.[ToStatus] = t.[value]
);
/*
One row per call that changed items, written in the same transaction: a caller that lost the answer asks again with the same
identity and gets the same answer instead of a second effect; in another queue, or for another kind of call, it is refused.
Result holds what cannot be read back from the items.
*/
IF OBJECT_ID({{ literal("QueueOperation") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueOperation") }} (
        [OperationId] uniqueidentifier NOT NULL,
        [Call] varchar(60) NOT NULL, /* the procedure, by what its two forms have in common */
        [At] datetime2(7) NOT NULL, [Result] nvarchar(max) NULL,
        CONSTRAINT [PK_QueueOperation] PRIMARY KEY CLUSTERED ([OperationId])
    );
/*
Logins and the types that they see, of queues whose description says own_types_only. UserName is a user or a role of the
database; the type * is every type.
*/
IF OBJECT_ID({{ literal("QueueTypeAccess") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueTypeAccess") }} (
        [Queue] varchar(40) NOT NULL, [Type] nvarchar(60) NOT NULL, [UserName] sysname NOT NULL,
        CONSTRAINT [PK_QueueTypeAccess] PRIMARY KEY CLUSTERED ([Queue], [UserName], [Type])
    );
/*
A row for each queue: when the items of its dead workers were last looked for, UTC. Of all who claim, one does it when
it is time; nobody waits for a row here. LookedAt is the last look at its workers' locks (QueueLifeline).
*/
IF OBJECT_ID({{ literal("QueueRecovery") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueRecovery") }} (
        [Queue] varchar(40) NOT NULL, [RecoveredAt] datetime2(7) NOT NULL,
        [LookedAt] datetime2(7) NOT NULL CONSTRAINT [DF_QueueRecovery_LookedAt] DEFAULT '0001-01-01',
        CONSTRAINT [PK_QueueRecovery] PRIMARY KEY CLUSTERED ([Queue])
    );
/*
Workers whose sessions hold a lock as long as their process lives: where it has been free for GraceMs, the worker is dead. A server
that began anew or took over has freed all locks: there a row says nothing until its worker reports again.
*/
IF OBJECT_ID({{ literal("QueueLifeline") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueLifeline") }} (
        [Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL, [GraceMs] int NOT NULL,
        [ServerBegan] datetime2(7) NOT NULL, [FreeSince] datetime2(7) NULL, /* UTC */
        CONSTRAINT [PK_QueueLifeline] PRIMARY KEY CLUSTERED ([Queue], [Worker])
    );
/*
Items that their table does not let a queue change: a claim or a recovery of one met a unique index, a CHECK, a trigger. Each
is left aside until a time (UTC) that goes farther at each refusal; all processes see it, so that none tries in vain. Key is the
item's as text. Attempts counts the refusals that spend an attempt: not those of a unique index, which pass when another row
does. The row goes when its item is let through. A row with the word pause stands for one of QueuePause.
*/
IF OBJECT_ID({{ literal("QueueRefused") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueRefused") }} (
        [Queue] varchar(40) NOT NULL, [Key] nvarchar(400) COLLATE Latin1_General_BIN2 NOT NULL,
        [Doing] varchar(10) NOT NULL, /* claim, recover or pause */
        [Reason] nvarchar(400) NOT NULL, [Times] int NOT NULL, [Attempts] int NOT NULL, [Since] datetime2(7) NOT NULL,
        [Until] datetime2(7) NOT NULL, CONSTRAINT [PK_QueueRefused] PRIMARY KEY CLUSTERED ([Queue], [Key])
    );
/* Queues of which nothing is claimed for now, or nothing of a type; the type N'' is all of the queue. Times are UTC. */
IF OBJECT_ID({{ literal("QueuePause") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueuePause") }} (
        [Queue] varchar(40) NOT NULL, [Type] nvarchar(60) NOT NULL, [Since] datetime2(7) NOT NULL,
        [Until] datetime2(7) NULL, /* NULL: until it is resumed */
        [Who] nvarchar(200) NOT NULL, [Login] nvarchar(128) NOT NULL, [Reason] nvarchar(400) NULL,
        CONSTRAINT [PK_QueuePause] PRIMARY KEY CLUSTERED ([Queue], [Type])
    );
/*
The record of operators' actions: redrives, purges, cancels, pauses, settings. An action on many items goes on from its row: Place is
the last key that is done, and the holder of the row's lease runs it. A row goes 90 days after the action's end. Times are UTC.
*/
IF OBJECT_ID({{ literal("QueueAction") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueAction") }} (
        [ActionId] bigint IDENTITY (1, 1) NOT NULL,
        [Queue] varchar(40) NOT NULL, [Verb] varchar(20) NOT NULL, [Who] nvarchar(200) NOT NULL, [Login] nvarchar(128) NOT NULL,
        [Filter] nvarchar(max) NULL, [State] varchar(20) NOT NULL, /* Running, Cancelling, Done, Cancelled or Failed */
        [BegunAt] datetime2(7) NOT NULL, [EndedAt] datetime2(7) NULL, [Expected] bigint NULL, [Done] bigint NOT NULL,
        [Refused] bigint NOT NULL, [Place] nvarchar(4000) NULL, [Result] nvarchar(4000) NULL, [Owner] nvarchar(128) NULL,
        [LeaseUntil] datetime2(7) NULL, CONSTRAINT [PK_QueueAction] PRIMARY KEY CLUSTERED ([ActionId])
    );
/* The workers of each queue, idle ones too: each reports every half minute. A row goes a week after the last report. */
IF OBJECT_ID({{ literal("QueueWorker") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueWorker") }} (
        [Queue] varchar(40) NOT NULL, [Worker] nvarchar(128) NOT NULL, [Host] nvarchar(128) NOT NULL, [Process] bigint NOT NULL,
        [Version] varchar(40) NOT NULL, [StartedAt] datetime2(7) NOT NULL, [SeenAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueWorker] PRIMARY KEY CLUSTERED ([Queue], [Worker])
    );
/* Figures of each queue, one row a minute, for a day: kept by one of all who could. */
IF OBJECT_ID({{ literal("QueueMinute") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueMinute") }} (
        [Queue] varchar(40) NOT NULL, [At] datetime2(0) NOT NULL, [Due] bigint NULL, [OldestMs] bigint NULL, [InFlight] bigint NULL,
        [Failed] bigint NULL, [Ended] bigint NULL, CONSTRAINT [PK_QueueMinute] PRIMARY KEY CLUSTERED ([Queue], [At])
    );
{% endfilter %}
{% call index_of.create("IX_QueueAction_EndedAt", "QueueAction", [column("EndedAt")]) %}
{%- endcall %}
{% filter made("VIEW", "QueueOwnType_V", once=true) %}
/*
The types that the caller may see, by queue: the user it is in this database, and the roles that user is in. Procedures
and views read this with the rights of their owner, and USER_NAME() is the caller all the same.
*/
IF OBJECT_ID({{ literal("QueueOwnType_V") }}, N'V') IS NULL
    EXECUTE (N'CREATE VIEW {{ object("QueueOwnType_V") | replace("'", "''") }}
AS
SELECT
    a.[Queue],
    a.[Type]
FROM {{ object("QueueTypeAccess") | replace("'", "''") }} AS a
WHERE
    a.[UserName] = USER_NAME()
    OR IS_ROLEMEMBER(a.[UserName]) = 1;');
{% endfilter %}
{% filter made("VIEW", "QueuePaused_V", once=true) %}
/* The pauses in force. The name of a type that the caller may not see stays hidden, and so does its pause. */
IF OBJECT_ID({{ literal("QueuePaused_V") }}, N'V') IS NULL
    EXECUTE (N'CREATE VIEW {{ object("QueuePaused_V") | replace("'", "''") }}
AS
SELECT
    p.[Queue],
    p.[Type],
    p.[Since],
    p.[Until],
    p.[Who],
    p.[Login],
    p.[Reason]
FROM {{ object("QueuePause") | replace("'", "''") }} AS p
WHERE
    (p.[Until] IS NULL OR p.[Until] > SYSUTCDATETIME())
    AND (
        p.[Type] = N''''
        OR EXISTS (
            SELECT 1 FROM {{ object("QueueOwnType_V") | replace("'", "''") }} AS o
            WHERE o.[Queue] = p.[Queue] AND o.[Type] IN (p.[Type], N''*'')
        )
        OR NOT EXISTS (SELECT 1 FROM {{ object("QueueTypeAccess") | replace("'", "''") }} AS a WHERE a.[Queue] = p.[Queue])
    );');
{% endfilter %}
