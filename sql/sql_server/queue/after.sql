{%- if after %}
{%- import "macro/index.sql" as index_of -%}
{%- import "macro/item.sql" as item -%}
{%- set waits = "q.[ScheduledFor] = " ~ item.never() ~ " AND q.[Status] IN ('Pending', 'Error', 'Paused')" -%}
{%- set table_after = object(queue ~ "_After") -%}
{% filter made("TABLE", queue ~ "_After") %}
/*
The items that wait for others of the queue, a row for each of those: a set, of which no row is missing and none counts twice. It stays
when the wait is over, as long as its item.
*/
IF OBJECT_ID({{ literal(queue ~ "_After") }}, N'U') IS NULL
    CREATE TABLE {{ table_after }} (
        [Item] datetime2(7) NOT NULL, [Parent] datetime2(7) NOT NULL,
        [OnFailed] varchar(10) NOT NULL, /* when the parent ends in another way than Completed: fail, run or wait */
        [DueAt] datetime2(7) NOT NULL, /* the time of the item when it waits no more */
        [Outcome] varchar(20) NULL, /* how the parent ended, or Dropped; NULL: it is waited for */
        CONSTRAINT [PK_{{ queue }}_After] PRIMARY KEY CLUSTERED ([Item], [Parent])
    );
{% endfilter %}
{% filter statement %}
/* Many rows locked by one statement must never become the whole table: each belongs to who holds its item. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID({{ literal(queue ~ "_After") }}) AND t.[lock_escalation] <> 1
)
    ALTER TABLE {{ table_after }} SET (LOCK_ESCALATION = DISABLE);
{% endfilter %}
{% call index_of.create("IX_" ~ queue ~ "_After_Parent", queue ~ "_After", [column("Parent")]) %}
/* The end of an item asks here for those that wait for it. */
{%- endcall %}
{% filter made("PROCEDURE", queue ~ "_Release") %}
/*
The items of @Ended (a JSON array of key and state) have ended: those that waited for them become due when nothing is left to wait for, or
Failed, as they say (OnFailed). Those that wait for the failed ones are next, and so on. With @Gone they have left the table, so that
none of them will ever be started again: who would wait for that fails.
Called by {{ queue }}_Ended and {{ queue }}_Wait, which hold the items of @Ended. Nobody is granted it.
An item is locked before its rows here are looked at: of two parents that end at once, the second one finds what the first has written.
Table access order: {{ called.table }}, in the order of the keys, parents before those that wait for them; {{ queue }}_After.
*/
{{ create_or_alter }} PROCEDURE {{ object(queue ~ "_Release") }}
    @Ended nvarchar(max), @Gone bit
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Count int;
    DECLARE @_Ended TABLE ([Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED, [State] varchar(20) NOT NULL);
    DECLARE @_Waiting TABLE ([Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED);
    DECLARE @_Held TABLE (
        [Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED, [DueAt] datetime2(7) NOT NULL, [Open] int NOT NULL, [Failed] datetime2(7) NULL
    );
    DECLARE @_Locked TABLE ([Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED);

    INSERT INTO @_Ended ([Key], [State])
    SELECT r.[Key], MIN(r.[State])
    FROM OPENJSON(@Ended) WITH ([Key] datetime2(7) '$.key', [State] varchar(20) '$.state') AS r
    GROUP BY r.[Key];

    WHILE EXISTS (SELECT 1 FROM @_Ended)
    BEGIN
        /* An item that has ended waits for nothing any more. */
        UPDATE a
        SET [Outcome] = 'Dropped'
        FROM @_Ended AS e
        INNER JOIN {{ table_after }} AS a WITH (ROWLOCK) ON a.[Item] = e.[Key]
        WHERE a.[Outcome] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE FROM @_Waiting;
        INSERT INTO @_Waiting ([Key])
        SELECT DISTINCT a.[Item]
        FROM @_Ended AS e
        INNER JOIN {{ table_after }} AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.[Parent] = e.[Key]
        WHERE a.[Outcome] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Count = @@ROWCOUNT;
        IF @_Count = 0 RETURN;

        /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
        DELETE FROM @_Locked;
        INSERT INTO @_Locked ([Key])
        SELECT q.[EnqueuedAt]
        FROM (SELECT TOP (@_Count) o.[Key] FROM @_Waiting AS o ORDER BY o.[Key]) AS w
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK) ON q.[EnqueuedAt] = w.[Key]
        WHERE {{ waits }}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        UPDATE a
        SET [Outcome] = e.[State]
        FROM @_Ended AS e
        INNER JOIN {{ table_after }} AS a WITH (ROWLOCK) ON a.[Parent] = e.[Key]
        WHERE a.[Outcome] IS NULL AND (e.[State] = 'Completed' OR a.[OnFailed] <> 'wait' OR @Gone = 1)
        OPTION (LOOP JOIN, FORCE ORDER);

        /* Not one that somebody has made due, or that has ended. */
        DELETE FROM @_Held;
        INSERT INTO @_Held ([Key], [DueAt], [Open], [Failed])
        SELECT
            w.[Key], MAX(a.[DueAt]), SUM(CASE WHEN a.[Outcome] IS NULL THEN 1 ELSE 0 END),
            NULLIF(MIN(CASE WHEN a.[Outcome] <> 'Completed' AND a.[OnFailed] <> 'run' THEN a.[Parent] ELSE '9999-12-31' END), '9999-12-31')
        FROM @_Locked AS w
        INNER JOIN {{ table_after }} AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.[Item] = w.[Key]
        GROUP BY w.[Key]
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE q
        SET [ScheduledFor] = h.[DueAt]
        FROM @_Held AS h
        INNER JOIN {{ table }} AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = h.[Key]
        WHERE h.[Open] = 0 AND h.[Failed] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE q
        SET
            [Status] = 'Failed',
            [Error] = CONCAT(N'It waited for ', CONVERT(nvarchar(30), h.[Failed], 126), N', which is ', a.[Outcome], N'.'),
            [UpdatedAt] = CASE WHEN q.[UpdatedAt] >= @_Now THEN DATEADD(MICROSECOND, 1, q.[UpdatedAt]) ELSE @_Now END
        FROM @_Held AS h
        INNER JOIN {{ table }} AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = h.[Key]
        INNER JOIN {{ table_after }} AS a WITH (ROWLOCK, READCOMMITTEDLOCK) ON a.[Item] = h.[Key] AND a.[Parent] = h.[Failed]
        OPTION (LOOP JOIN, FORCE ORDER);

        SET @Gone = 0;
        DELETE FROM @_Ended;
        INSERT INTO @_Ended ([Key], [State])
        SELECT h.[Key], 'Failed'
        FROM @_Held AS h
        WHERE h.[Failed] IS NOT NULL;
    END;
END;
{% endfilter %}
{% filter made("TRIGGER", queue ~ "_Ended") %}
/*
Lets go of the items that wait for those that a statement has ended or deleted: one of a worker, of an operator, or by hand.
Table access order: {{ queue }}_After, and as {{ queue }}_Release.
*/
{{ create_or_alter }} TRIGGER {{ object(queue ~ "_Ended") }} ON {{ table }} AFTER UPDATE, DELETE
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @_Ended nvarchar(max);
    DECLARE @_Gone bit = CASE WHEN EXISTS (SELECT 1 FROM inserted) THEN 0 ELSE 1 END;

    /* {{ queue }}_Release goes on by itself with the items that it ends. */
    IF TRIGGER_NESTLEVEL(@@PROCID) > 1 RETURN;

    SET @_Ended = (
        SELECT e.[Key] AS [key], e.[State] AS [state]
        FROM (
            SELECT i.[EnqueuedAt] AS [Key], i.[Status] AS [State]
            FROM inserted AS i
            WHERE i.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
            UNION ALL
            SELECT
                d.[EnqueuedAt],
                /* {{ "Gone before it was done." if completion == "keep" else "Completed items leave the table." }} */
                CASE WHEN d.[Status] IN ('Pending', 'Processing', 'Error', 'Paused') THEN '{{ "Cancelled" if completion == "keep" else "Completed" }}' ELSE d.[Status] END
            FROM deleted AS d
            WHERE NOT EXISTS (SELECT 1 FROM inserted AS i WHERE i.[EnqueuedAt] = d.[EnqueuedAt])
        ) AS e
        WHERE
            EXISTS (
                SELECT 1 FROM {{ table_after }} AS a WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
                WHERE a.[Parent] = e.[Key] AND a.[Outcome] IS NULL
            )
            OR EXISTS (
                SELECT 1 FROM {{ table_after }} AS a WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
                WHERE a.[Item] = e.[Key] AND a.[Outcome] IS NULL
            )
        FOR JSON PATH
    );
    IF @_Ended IS NOT NULL
        EXECUTE {{ object(queue ~ "_Release") }} @Ended = @_Ended, @Gone = @_Gone;

    IF @_Gone = 1
        DELETE a
        FROM deleted AS d
        INNER JOIN {{ table_after }} AS a WITH (ROWLOCK) ON a.[Item] = d.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);
END;
{% endfilter %}
{% filter made("PROCEDURE", queue ~ "_Wait") %}
/*
New items wait for those that they name in after: a text is the key of an item that is there, a number the place of an earlier element
of the call, so that no item waits for itself. @Answers has the key of each element, as {{ queue }}_Add keeps it. Called by that, which has
put them in as never due. Nobody is granted it.
{%- if completion == "keep" %} An item that is not there is an error.
{%- else %} An item that is not there is Completed, and has left the table.
{%- endif %}
Table access order: {{ called.table }}, in the order of the keys; {{ queue }}_After; then as {{ queue }}_Release.
*/
{{ create_or_alter }} PROCEDURE {{ object(queue ~ "_Wait") }}
    @Items nvarchar(max), @Answers nvarchar(max), @Now datetime2(7)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Wrong nvarchar(2048), @_Ended nvarchar(max);
    DECLARE @_Count int;
    DECLARE @_Wanted TABLE (
        [Ordinal] int NOT NULL, [Parent] datetime2(7) NULL, [Place] int NULL, [Given] nvarchar(100) NULL,
        [OnFailed] varchar(10) NOT NULL, [DueAt] datetime2(7) NOT NULL
    );
    DECLARE @_Answer TABLE ([Ordinal] int NOT NULL PRIMARY KEY CLUSTERED, [Answer] varchar(20) NOT NULL, [Key] datetime2(7) NOT NULL);
    DECLARE @_Parent TABLE ([Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED);
    DECLARE @_State TABLE ([Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED, [State] varchar(20) NULL);

    INSERT INTO @_Answer ([Ordinal], [Answer], [Key])
    SELECT r.[Ordinal], r.[Answer], r.[Key]
    FROM OPENJSON(@Answers) WITH ([Ordinal] int '$.ordinal', [Answer] varchar(20) '$.answer', [Key] datetime2(7) '$.key') AS r;

    INSERT INTO @_Wanted ([Ordinal], [Parent], [Place], [Given], [OnFailed], [DueAt])
    SELECT
        CAST(j.[key] AS int), CASE WHEN w.[type] = 1 THEN TRY_CAST(w.[value] AS datetime2(7)) END,
        CASE WHEN w.[type] = 2 THEN TRY_CAST(w.[value] AS int) END, LEFT(w.[value], 100), COALESCE(r.[OnFailed], 'fail'),
        COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now)), @Now)
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [After] nvarchar(max) '$.after' AS JSON, [OnFailed] varchar(10) '$.on_failed', [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms'
    ) AS r
    CROSS APPLY OPENJSON(r.[After]) AS w
    OPTION (LOOP JOIN, FORCE ORDER);

    SET @_Wrong = (
        SELECT TOP (1) CONCAT(N'item ', w.[Ordinal], N': "after" takes keys of items and places of earlier ones, not ', w.[Given])
        FROM @_Wanted AS w
        WHERE (w.[Parent] IS NULL AND w.[Place] IS NULL) OR w.[Place] < 0 OR w.[Place] >= w.[Ordinal]
        ORDER BY w.[Ordinal]
    );

    UPDATE w
    SET [Parent] = a.[Key]
    FROM @_Wanted AS w
    INNER JOIN @_Answer AS a ON a.[Ordinal] = w.[Place];

    INSERT INTO @_Parent ([Key])
    SELECT DISTINCT w.[Parent]
    FROM @_Wanted AS w
    INNER JOIN @_Answer AS a ON a.[Ordinal] = w.[Ordinal]
    WHERE a.[Answer] = 'OK' AND w.[Parent] IS NOT NULL;
    SET @_Count = @@ROWCOUNT;

    /* They stay as they are until those that wait for them are written. One row at a time, in the order of the keys. */
    INSERT INTO @_State ([Key], [State])
    SELECT p.[Key], q.[Status]
    FROM (SELECT TOP (@_Count) o.[Key] FROM @_Parent AS o ORDER BY o.[Key]) AS p
    LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK) ON q.[EnqueuedAt] = p.[Key]
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- if completion == "keep" %}
    SET @_Wrong = COALESCE(@_Wrong, (
        SELECT TOP (1) CONCAT(N'an item is to wait for ', CONVERT(nvarchar(30), s.[Key], 126), N', and there is no such item')
        FROM @_State AS s
        WHERE s.[State] IS NULL
        ORDER BY s.[Key]
    ));
{%- endif %}
    IF @_Wrong IS NOT NULL
    BEGIN
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        SET @_Wrong = REPLACE(CONCAT(N'Add_{{ queue }}: ', @_Wrong, N'.'), N'%', N'%%');
        THROW 50021, @_Wrong, 1;
    END;

    INSERT INTO {{ table_after }} ([Item], [Parent], [OnFailed], [DueAt])
    SELECT a.[Key], w.[Parent], MIN(w.[OnFailed]), MIN(w.[DueAt])
    FROM @_Wanted AS w
    INNER JOIN @_Answer AS a ON a.[Ordinal] = w.[Ordinal]
    WHERE a.[Answer] = 'OK'
    GROUP BY a.[Key], w.[Parent];

    /* Those that are over have their end seen at once. */
    SET @_Ended = (
        SELECT s.[Key] AS [key], {{ "s.[State]" if completion == "keep" else "COALESCE(s.[State], 'Completed')" }} AS [state]
        FROM @_State AS s
        WHERE {{ "" if completion == "keep" else "s.[State] IS NULL OR " }}s.[State] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
        FOR JSON PATH
    );
    IF @_Ended IS NOT NULL
        EXECUTE {{ object(queue ~ "_Release") }} @Ended = @_Ended, @Gone = 0;
END;
{% endfilter %}
{%- set procedure = "Waits_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
The items for which an item waits or has waited (IsParent = 1), and those that wait or have waited for it, at most 1,000 of each, with their
states; NULL: it is gone. Outcome is NULL for what is waited for.
Table access order: {{ queue }}_After, {{ called.table }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Key datetime2(7)
AS
BEGIN
{% include "part/head.sql" %}
    SELECT w.[IsParent], w.[Key], q.[Status], w.[OnFailed], w.[Outcome]
    FROM (
        SELECT p.[IsParent], p.[Key], p.[OnFailed], p.[Outcome]
        FROM (
            SELECT TOP (1000) 1 AS [IsParent], a.[Parent] AS [Key], a.[OnFailed], a.[Outcome]
            FROM {{ table_after }} AS a WITH (ROWLOCK)
            WHERE a.[Item] = @Key
            ORDER BY a.[Parent]
        ) AS p
        UNION ALL
        SELECT c.[IsParent], c.[Key], c.[OnFailed], c.[Outcome]
        FROM (
            SELECT TOP (1000) 0 AS [IsParent], a.[Item] AS [Key], a.[OnFailed], a.[Outcome]
            FROM {{ table_after }} AS a WITH (ROWLOCK)
            WHERE a.[Parent] = @Key
            ORDER BY a.[Item]
        ) AS c
    ) AS w
    LEFT JOIN {{ table }} AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = w.[Key]
    ORDER BY w.[IsParent] DESC, w.[Key];
END;
{% endfilter %}
{%- endif %}
