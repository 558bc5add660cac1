{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
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
GO
/* What a value looks like. Whether it may be missing is said where the type is used. */
IF TYPE_ID({{ literal("_Timestamp") }}) IS NULL
    CREATE TYPE {{ object("_Timestamp") }} FROM datetime2(7) NULL;
GO
IF TYPE_ID({{ literal("_Int") }}) IS NULL
    CREATE TYPE {{ object("_Int") }} FROM int NULL;
GO
IF TYPE_ID({{ literal("_Type") }}) IS NULL
    CREATE TYPE {{ object("_Type") }} FROM nvarchar(60) NULL;
GO
IF TYPE_ID({{ literal("QueueState") }}) IS NULL
    CREATE TYPE {{ object("QueueState") }} FROM varchar(20) NULL;
GO
IF TYPE_ID({{ literal("QueueStep") }}) IS NULL
    CREATE TYPE {{ object("QueueStep") }} FROM nvarchar(60) NULL;
GO
IF TYPE_ID({{ literal("AttemptNum") }}) IS NULL
    CREATE TYPE {{ object("AttemptNum") }} FROM int NULL;
GO
IF TYPE_ID({{ literal("WebResponse") }}) IS NULL
    CREATE TYPE {{ object("WebResponse") }} FROM nvarchar(max) NULL;
GO
IF TYPE_ID({{ literal("Duration") }}) IS NULL
    CREATE TYPE {{ object("Duration") }} FROM bigint NULL;
GO
/* One row per version that was applied here: an audit trail, never updated. */
IF OBJECT_ID({{ literal("QueueSchemaVersion") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueSchemaVersion") }} (
        [Version] int NOT NULL,
        [AppliedAt] datetime2(7) NOT NULL,
        [Library] varchar(20) NOT NULL,
        CONSTRAINT [PK_QueueSchemaVersion] PRIMARY KEY CLUSTERED ([Version])
    );
GO
/* The queues of this schema, each with the specification it was rendered from. */
IF OBJECT_ID({{ literal("QueueSpec") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueSpec") }} (
        [Queue] varchar(40) NOT NULL,
        [Preset] varchar(20) NOT NULL,
        [Spec] nvarchar(max) NOT NULL,
        [RenderedBy] int NOT NULL,
        [InstalledAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_QueueSpec] PRIMARY KEY CLUSTERED ([Queue])
    );
GO
/* Settings that procedures read, such as notification.maxAttempts. */
IF OBJECT_ID({{ literal("AppSettings") }}, N'U') IS NULL
    CREATE TABLE {{ object("AppSettings") }} (
        [Param] varchar(100) NOT NULL,
        [ValInt] {{ object("_Int") }} NULL,
        [ValText] nvarchar(400) NULL,
        CONSTRAINT [PK_AppSettings] PRIMARY KEY CLUSTERED ([Param])
    );
GO
IF OBJECT_ID({{ literal("QueueStatus") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueStatus") }} (
        [Status] {{ object("QueueState") }} NOT NULL,
        CONSTRAINT [PK_QueueStatus] PRIMARY KEY CLUSTERED ([Status])
    );
GO
INSERT INTO {{ object("QueueStatus") }} ([Status])
SELECT v.[Status]
FROM (VALUES
    ('Pending'),
    ('Processing'),
    ('Error'), /* retryable */
    ('Failed'), /* attempts spent, or the worker gave up */
    ('Completed'),
    ('Cancelled'),
    ('Paused'),
    ('Terminated'),
    ('PartiallyCompleted')
) AS v ([Status])
WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueStatus") }} AS s WHERE s.[Status] = v.[Status]);
GO
/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
IF OBJECT_ID({{ literal("QueueTransition") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueTransition") }} (
        [FromStatus] {{ object("QueueState") }} NOT NULL,
        [ToStatus] {{ object("QueueState") }} NOT NULL,
        CONSTRAINT [PK_QueueTransition] PRIMARY KEY CLUSTERED ([FromStatus], [ToStatus])
    );
GO
INSERT INTO {{ object("QueueTransition") }} ([FromStatus], [ToStatus])
SELECT v.[FromStatus], v.[ToStatus]
FROM (VALUES
    ('Pending', 'Processing'),
    ('Pending', 'Failed'),
    ('Pending', 'Cancelled'),
    ('Pending', 'Paused'),
    ('Pending', 'Terminated'),
    ('Processing', 'Processing'),
    ('Processing', 'Pending'),
    ('Processing', 'Error'),
    ('Processing', 'Failed'),
    ('Processing', 'Completed'),
    ('Processing', 'PartiallyCompleted'),
    ('Processing', 'Cancelled'),
    ('Processing', 'Paused'),
    ('Processing', 'Terminated'),
    ('Error', 'Processing'),
    ('Error', 'Pending'),
    ('Error', 'Failed'),
    ('Error', 'Cancelled'),
    ('Error', 'Paused'),
    ('Error', 'Terminated'),
    ('Paused', 'Processing'),
    ('Paused', 'Pending'),
    ('Paused', 'Failed'),
    ('Paused', 'Cancelled'),
    ('Paused', 'Terminated')
) AS v ([FromStatus], [ToStatus])
WHERE NOT EXISTS (
    SELECT 1 FROM {{ object("QueueTransition") }} AS t
    WHERE t.[FromStatus] = v.[FromStatus] AND t.[ToStatus] = v.[ToStatus]
);
GO
/*
One row per call that changed items, written in the same transaction: whoever lost the answer asks again with the same
identity and gets the same answer instead of a second effect. Result holds what cannot be read back from the items.
*/
IF OBJECT_ID({{ literal("QueueOperation") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueOperation") }} (
        [OperationId] uniqueidentifier NOT NULL,
        [At] datetime2(7) NOT NULL,
        [Result] nvarchar(max) NULL,
        CONSTRAINT [PK_QueueOperation] PRIMARY KEY CLUSTERED ([OperationId])
    );
GO
