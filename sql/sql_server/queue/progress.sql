{% import "macro/item.sql" as item -%}
{%- import "macro/take.sql" as take -%}
{%- if progress %}
{%- set procedure = "Progress_" ~ queue ~ "_Set_trx" -%}
{%- set table_progress = object(queue ~ "_Progress") -%}
{%- macro answer() -%}
CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN q.[Status] <> 'Processing' OR COALESCE(q.[LeaseOwner], N'') <> @Worker OR q.[AttemptNum] <> COALESCE(i.[Attempt], 0)
                    THEN 'LEASE_LOST'
                WHEN q.[UpdatedAt] = i.[Token] THEN 'OK'
                ELSE 'CONFLICT'
            END
{%- endmacro -%}
{% filter made("TABLE", queue ~ "_Progress") %}
/*
How far the items in work are, as their workers report it: a row for each that has ever reported, which goes with its item. It is of the
attempt that began at StartedAt; one that began later has reported nothing yet. Times are UTC.
*/
IF OBJECT_ID({{ literal(queue ~ "_Progress") }}, N'U') IS NULL
    CREATE TABLE {{ table_progress }} (
        [EnqueuedAt] datetime2(7) NOT NULL, [StartedAt] datetime2(7) NOT NULL,
        [Percent] smallint NULL, [Text] nvarchar(200) NULL, [ReportedAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_{{ queue }}_Progress] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [Progress_Is_{{ queue }}] FOREIGN KEY ([EnqueuedAt]) REFERENCES {{ table }} ([EnqueuedAt]) ON DELETE CASCADE
    );
{% endfilter %}
{% filter statement %}
/* Many rows locked by one statement must never become the whole table: each belongs to who holds its item. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID({{ literal(queue ~ "_Progress") }}) AND t.[lock_escalation] <> 1
)
    ALTER TABLE {{ table_progress }} SET (LOCK_ESCALATION = DISABLE);
{% endfilter %}
{% filter made("PROCEDURE", procedure) %}
/*
Keep how far a worker's items are. @Items is a JSON array of objects with key, token and attempt, and percent (0 to 100; one below is none)
or text (cut after 200 characters) or both: what is left out becomes NULL. Answers OK, LEASE_LOST, CONFLICT (the token is another) or
NOT_FOUND, one row each. The row of the item is locked and stays as it is, its token with it.
It waits for nobody. OK without a status is an item whose row somebody holds: nothing was written, ask again later.
Table access order: {{ called.table }}, in the order of the keys; {{ queue }}_Progress.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128), @Items nvarchar(max)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Count int;
{% include "part/limit.sql" %}
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Token] datetime2(7) NULL, [Attempt] int NULL,
        [Percent] int NULL, [Text] nvarchar(200) NULL, [StartedAt] datetime2(7) NULL,
        UNIQUE CLUSTERED ([Key], [Ordinal])
    );
{% include "part/out_table.sql" %}
    /* The last report of each item. */
    DECLARE @_Report TABLE (
        [Key] datetime2(7) NOT NULL PRIMARY KEY CLUSTERED, [StartedAt] datetime2(7) NOT NULL, [Percent] smallint NULL, [Text] nvarchar(200) NULL
    );

{% include "part/no_transaction.sql" %}
{{- take.names(procedure, takes.progress) }}

    INSERT INTO @_Item ([Ordinal], [Key], [Token], [Attempt], [Percent], [Text])
    SELECT CAST(j.[key] AS int), r.[Key], r.[Token], r.[Attempt], r.[Percent], CAST(r.[Text] AS nvarchar(200))
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key] datetime2(7) '$.key', [Token] datetime2(7) '$.token', [Attempt] int '$.attempt',
        [Percent] int '$.percent', [Text] nvarchar(max) '$.text'
    ) AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], {{ item.names(t) }}, [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            {{ answer() }},
            i.[Ordinal], i.[Key],
            i.[Key],
            q.[UpdatedAt],
            q.[AttemptNum],
            q.[Status]
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key], o.[Ordinal]) AS i
        LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[EnqueuedAt] = i.[Key]
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        /* They are locked. */
        INSERT INTO @_Report ([Key], [StartedAt], [Percent], [Text])
        SELECT i.[Key], q.[StartedAt], CASE WHEN i.[Percent] > 100 THEN 100 WHEN i.[Percent] >= 0 THEN i.[Percent] END, i.[Text]
        FROM (SELECT TOP (@_Count) MAX(o.[Ordinal]) AS [Ordinal] FROM @_Out AS o WHERE o.[Answer] = 'OK' GROUP BY o.[Key]) AS o
        INNER JOIN @_Item AS i
            ON i.[Ordinal] = o.[Ordinal]
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON q.[EnqueuedAt] = i.[Key]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        UPDATE p
        SET [StartedAt] = r.[StartedAt], [Percent] = r.[Percent], [Text] = r.[Text], [ReportedAt] = SYSUTCDATETIME()
        FROM @_Report AS r
        INNER JOIN {{ table_progress }} AS p WITH (ROWLOCK)
            ON p.[EnqueuedAt] = r.[Key]
        OPTION (LOOP JOIN, FORCE ORDER);

        INSERT INTO {{ table_progress }} ([EnqueuedAt], [StartedAt], [Percent], [Text], [ReportedAt])
        SELECT r.[Key], r.[StartedAt], r.[Percent], r.[Text], SYSUTCDATETIME()
        FROM @_Report AS r
        WHERE NOT EXISTS (SELECT 1 FROM {{ table_progress }} AS p WITH (ROWLOCK) WHERE p.[EnqueuedAt] = r.[Key])
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};

        /* A row that somebody holds was passed over: a look without locks says whether it is the worker's all the same. */
        UPDATE o
        SET [Answer] = {{ answer() }}, [Token] = q.[UpdatedAt], [AttemptNum] = q.[AttemptNum]
        FROM @_Out AS o
        INNER JOIN @_Item AS i
            ON i.[Ordinal] = o.[Ordinal]
        INNER JOIN {{ table }} AS q WITH (READUNCOMMITTED)
            ON q.[EnqueuedAt] = o.[Key]
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
        WHERE o.[Status] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
    END TRY
{% include "part/rollback.sql" %}

{% include "part/answers_select.sql" %}
END;
{% endfilter %}
{%- set procedure = "Progress_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
How far items are, by the last report of the attempt that began last: @Keys is a JSON array of at most 1,000 keys; those that have reported
nothing have no row. It changes nothing, and its locks on rows are let go one by one.
Table access order: {{ called.table }}, {{ queue }}_Progress.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Keys nvarchar(max)
AS
BEGIN
{% include "part/head.sql" %}
    /* A call that only looks gives way. */
    SET DEADLOCK_PRIORITY LOW;

    IF @Keys IS NULL OR ISJSON(@Keys) = 0 OR (SELECT COUNT(*) FROM OPENJSON(@Keys)) > 1000
        THROW 50021, N'{{ procedure }}: @Keys must be a JSON array of at most 1000 keys.', 1;

    SELECT q.[EnqueuedAt], CAST(p.[Percent] AS int) AS [Percent], p.[Text], p.[ReportedAt]
    FROM (SELECT DISTINCT TOP (1000) TRY_CAST(j.[value] AS datetime2(7)) AS [Key] FROM OPENJSON(@Keys) AS j) AS k
    INNER JOIN {{ table }} AS q WITH (ROWLOCK)
        ON q.[EnqueuedAt] = k.[Key]
    INNER JOIN {{ table_progress }} AS p WITH (ROWLOCK)
        ON p.[EnqueuedAt] = q.[EnqueuedAt] AND p.[StartedAt] = q.[StartedAt]
{%- if own_types_only %}
    WHERE {% filter indent(8) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
    ORDER BY q.[EnqueuedAt]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
{% endfilter %}
{%- endif %}
