{% import "macro/item.sql" as item -%}
{%- import "macro/take.sql" as take -%}
{%- import "macro/in_flight.sql" as flying -%}
{%- if progress %}
{%- set procedure = "Progress_" ~ queue ~ "_Set_trx" -%}
{%- set began = flying.began(t) -%}
{%- macro answer() -%}
CASE
                WHEN q.{{ key[0].quoted }} IS NULL THEN 'NOT_FOUND'
                WHEN
                    {{ "s." ~ t.key[0].kept ~ " IS NULL OR " if beside }}{{ item.status(t) }} <> 'Processing'
                    OR COALESCE({{ item.owner(t) }}, N'') <> @Worker
                    OR {{ item.attempts(t) }} <> COALESCE(i.[Attempt], 0)
                    THEN 'LEASE_LOST'
                WHEN {{ item.token(t) }} = i.[Token] THEN 'OK'
                ELSE 'CONFLICT'
            END
{%- endmacro -%}
{% filter made("TABLE", queue ~ "_Progress") %}
/*
How far the items in work are, as their workers report it: a row for each that has ever reported, which goes with its item. It is of the
attempt that began at StartedAt; one that began later has reported nothing yet. Times are UTC.
*/
IF OBJECT_ID({{ literal(queue ~ "_Progress") }}, N'U') IS NULL
    CREATE TABLE {{ t.progress }} (
{%- for k in t.key %}
        {{ k.attempted }} {{ k.type }}{{ k.collate }} NOT NULL,
{%- endfor %}
        [StartedAt] datetime2(7) NOT NULL,
        [Percent] smallint NULL, [Text] nvarchar(200) NULL, [ReportedAt] datetime2(7) NOT NULL,
        CONSTRAINT [PK_{{ queue }}_Progress] PRIMARY KEY CLUSTERED ({{ item.attempt_names(t) }})
{%- if own %},
        CONSTRAINT [Progress_Is_{{ queue }}] FOREIGN KEY ([EnqueuedAt]) REFERENCES {{ table }} ([EnqueuedAt]) ON DELETE CASCADE
{%- endif %}
    );
{% endfilter %}
{%- if beside %}
{% filter statement %}
/*
A row goes when the one beside its item does. The table {{ called.table }} itself gets no foreign key: that would refuse a
TRUNCATE of it, and a switch of its partitions.
*/
IF OBJECT_ID({{ literal("Progress_Is_" ~ queue) }}, N'F') IS NULL
BEGIN
    /* Those of a time without rows beside. */
    DELETE FROM {{ t.progress }};
    ALTER TABLE {{ t.progress }} ADD CONSTRAINT [Progress_Is_{{ queue }}]
    FOREIGN KEY ({{ item.attempt_names(t) }}) REFERENCES {{ t.lease }} ({{ item.kept_names(t) }}) ON DELETE CASCADE;
END;
{% endfilter %}
{%- endif %}
{% filter statement %}
/* Many rows locked by one statement must never become the whole table: each belongs to who holds its item. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID({{ literal(queue ~ "_Progress") }}) AND t.[lock_escalation] <> 1
)
    ALTER TABLE {{ t.progress }} SET (LOCK_ESCALATION = DISABLE);
{% endfilter %}
{% filter made("PROCEDURE", procedure) %}
/*
Keep how far a worker's items are. @Items is a JSON array of objects with key, token and attempt, and percent (0 to 100; one below is none)
or text (cut after 200 characters) or both: what is left out becomes NULL. Answers OK, LEASE_LOST, CONFLICT (the token is another) or
NOT_FOUND, one row each. The row of the item is locked and stays as it is, its token with it{{ ", and so is the row beside it" if beside }}.
It waits for nobody. OK without a status is an item whose row somebody holds: nothing was written, ask again later.
Table access order: {{ called.table }}, in the order of the keys{{ ", " ~ queue ~ "_Lease" if beside }}; {{ queue }}_Progress.
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
        [Ordinal] int NOT NULL,
        [Key] {{ item.key_type(t) }} NULL,
{{- item.declared(t, "NULL") }}
        [Token] datetime2(7) NULL, [Attempt] int NULL, [Percent] int NULL, [Text] nvarchar(200) NULL,
        UNIQUE CLUSTERED ({{ item.names(t) }}, [Ordinal])
    );
{% include "part/out_table.sql" %}
    /* The last report of each item. */
    DECLARE @_Report TABLE (
{{- item.declared(t) }}
        [StartedAt] datetime2(7) NOT NULL, [Percent] smallint NULL, [Text] nvarchar(200) NULL,
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );

{% include "part/no_transaction.sql" %}
{{- take.names(procedure, takes.progress) }}

    INSERT INTO @_Item ([Ordinal], [Key], {{ item.names(t) }}, [Token], [Attempt], [Percent], [Text])
    SELECT
        CAST(j.[key] AS int),
        {{ "JSON_QUERY(j.[value], '$.key')" if composite else "r." ~ t.key[0].var }},
{{- item.reads(t, "r") }}
        r.[Token], r.[Attempt], r.[Percent], CAST(r.[Text] AS nvarchar(200))
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{{- item.asked(t) }}
        [Token] datetime2(7) '$.token', [Attempt] int '$.attempt',
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
            {{ item.list(t, "i") }},
            {{ item.token(t) }},
            {{ item.attempts(t) }},
            {% if own %}{{ item.status(t) }}{% else %}CASE WHEN {{ "s." ~ t.key[0].kept if beside else "q." ~ key[0].quoted }} IS NOT NULL THEN {{ item.status(t) | indent(4) }} END{% endif %}
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY {{ item.list(t, "o") }}, o.[Ordinal]) AS i
        LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {{ item.found(t, "i") }}
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{{- item.beside(t, " WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)") | indent(8) }}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        /* They are locked. */
        INSERT INTO @_Report ({{ item.names(t) }}, [StartedAt], [Percent], [Text])
        SELECT
            {{ item.list(t, "i") }},
            {{ began }},
            CASE WHEN i.[Percent] > 100 THEN 100 WHEN i.[Percent] >= 0 THEN i.[Percent] END, i.[Text]
        FROM (
            SELECT TOP (@_Count) MAX(o.[Ordinal]) AS [Ordinal]
            FROM @_Out AS o
            WHERE o.[Answer] = 'OK'
            GROUP BY {{ item.list(t, "o") }}
        ) AS o
        INNER JOIN @_Item AS i
            ON i.[Ordinal] = o.[Ordinal]
        INNER JOIN {{ t.lease ~ " AS s" if beside else table ~ " AS q" }} WITH (ROWLOCK)
            ON {{ flying.is(t, "i") }}
{%- if not own %}
        WHERE {{ began }} IS NOT NULL
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        UPDATE p
        SET [StartedAt] = r.[StartedAt], [Percent] = r.[Percent], [Text] = r.[Text], [ReportedAt] = SYSUTCDATETIME()
        FROM @_Report AS r
        INNER JOIN {{ t.progress }} AS p WITH (ROWLOCK)
            ON {{ item.attempt_of(t, "r", "p") }}
        OPTION (LOOP JOIN, FORCE ORDER);

        INSERT INTO {{ t.progress }} ({{ item.attempt_names(t) }}, [StartedAt], [Percent], [Text], [ReportedAt])
        SELECT
            {{ item.list(t, "r") }},
            r.[StartedAt], r.[Percent], r.[Text], SYSUTCDATETIME()
        FROM @_Report AS r
        WHERE NOT EXISTS (
            SELECT 1 FROM {{ t.progress }} AS p WITH (ROWLOCK)
            WHERE {{ item.attempt_of(t, "r", "p") }}
        )
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};

        /* A row that somebody holds was passed over: a look without locks says whether it is the worker's all the same. */
        UPDATE o
        SET
            [Answer] = {{ answer() }},
            [Token] = {{ item.token(t) }},
            [AttemptNum] = {{ item.attempts(t) }}
        FROM @_Out AS o
        INNER JOIN @_Item AS i
            ON i.[Ordinal] = o.[Ordinal]
        INNER JOIN {{ table }} AS q WITH (READUNCOMMITTED)
            ON {{ item.found(t, "o") }}
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{{- item.beside(t, " WITH (READUNCOMMITTED)") | indent(8) }}
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
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}, {{ queue }}_Progress.
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

    SELECT
        {{ item.as_text(t, "q", of="quoted") }} AS [Key],
        CAST(p.[Percent] AS int) AS [Percent], p.[Text], p.[ReportedAt]
    FROM (
        SELECT DISTINCT TOP (1000){{ item.reads_text(t, "j.[value]") | trim(",") }}
        FROM OPENJSON(@Keys) AS j
    ) AS k ({{ item.names(t) }})
    INNER JOIN {{ table }} AS q WITH (ROWLOCK)
        ON {{ item.found(t, "k") }}
{%- if beside %}
    INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
        ON {{ item.kept_for(t, "k") }}
{%- endif %}
    INNER JOIN {{ t.progress }} AS p WITH (ROWLOCK)
        ON
            {{ item.attempt_of(t, "k", "p") }}
            AND p.[StartedAt] = {{ began }}
{%- if own_types_only %}
    WHERE {% filter indent(8) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
    ORDER BY {{ item.of_item(t) }}
    OPTION (LOOP JOIN, FORCE ORDER);
END;
{% endfilter %}
{%- endif %}
