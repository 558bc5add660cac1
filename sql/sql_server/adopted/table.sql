{% import "adopted/_names.sql" as n -%}
/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
{%- if create %}
{%- set at_once = "SYSDATETIME()" if local_time else "SYSUTCDATETIME()" %}
/* {{ queue }}: the items, in the shape that its description gives. */
IF OBJECT_ID({{ text(table) }}, N'U') IS NULL
    CREATE TABLE {{ table }} (
{%- for c in made %}
        {{ c.quoted }}
{%- if c.means == "key" %} {{ c.type }}{{ " IDENTITY(1, 1)" if c.numbered }} NOT NULL{{ " DEFAULT NEWID()" if c.drawn }}{{ " DEFAULT SYSUTCDATETIME()" if c.stamped }}
{%- elif c.means == "payload" %} {{ c.type }} {{ "NULL" if c.nullable else "NOT NULL" }}
{%- elif c.means == "state" %} {{ c.type }} {{ "NULL" if c.nullable else "NOT NULL" }}{{ " DEFAULT " ~ c.initial if c.initial != "NULL" }}
{%- elif c.means == "kind" %} nvarchar(60) NOT NULL DEFAULT {{ text(types[0]) }}
{%- elif c.means == "enqueued" %} datetime2(7) NOT NULL DEFAULT {{ at_once }}
{%- elif c.means in ["due", "started", "finished", "lease_until", "token"] %} datetime2(7) NULL
{%- elif c.means == "duration" %} bigint NULL
{%- elif c.means == "attempts" %} int NOT NULL DEFAULT 0
{%- elif c.means == "owner" %} nvarchar(128) NULL
{%- elif c.means == "step" %} nvarchar(60) NULL
{%- else %} nvarchar(max) NULL
{%- endif %},
{%- endfor %}
        CONSTRAINT [PK_{{ queue }}] PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
GO
{%- endif %}
{%- if not index.name %}
/*
The claim seeks here: what all pending items have in common, then the order. It has no filter, since whoever else writes
to the table may do so with settings that an index with a filter does not bear (error 1934).
*/
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    /* LIKE: there are servers that add to the name of an index what makes it unique in the database. */
    WHERE i.[object_id] = OBJECT_ID({{ text(table) }}) AND i.[name] LIKE N'IX_{{ queue }}_Due%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Due] ON {{ table }} (
{%- for c in due_index %}
        {{ c.quoted }}{{ " DESC" if c.descending }}{{ "," if not loop.last }}
{%- endfor %}
    ){% if due_include %} INCLUDE ({{ due_include }}){% endif %};
GO
{%- endif %}
{%- if foreign and not in_flight_is_due %}
/* Items that somebody else took and left are found here, oldest first. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ text(table) }}) AND i.[name] LIKE N'IX_{{ queue }}_InFlight%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_InFlight] ON {{ table }} ({{ in_flight_index | join(", ") }});
GO
{%- endif %}
{%- if shows_errors and not errors_are_due %}
/* Retries that wait, of which some may have been left by somebody else: recovery finds those here. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ text(table) }}) AND i.[name] LIKE N'IX_{{ queue }}_Error%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Error] ON {{ table }} ({{ error_index | join(", ") }});
GO
{%- endif %}
{%- if group %}
/* Whether an earlier item of the same group is unfinished. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ text(table) }}) AND i.[name] LIKE N'IX_{{ queue }}_Group%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Group] ON {{ table }} (
{%- for c in group_index %}
        {{ c.quoted }}{{ " DESC" if c.descending }}{{ "," if not loop.last }}
{%- endfor %}
    );
GO
{%- endif %}
{%- if dedup %}
/* The same work is found by an index: one of the table's own that begins with its columns, or else this one. */
IF NOT EXISTS (
    SELECT i.[index_id]
    FROM sys.indexes AS i
    INNER JOIN sys.index_columns AS x
        ON x.[object_id] = i.[object_id] AND x.[index_id] = i.[index_id]
    INNER JOIN sys.columns AS c
        ON c.[object_id] = x.[object_id] AND c.[column_id] = x.[column_id]
    WHERE
        i.[object_id] = OBJECT_ID({{ text(table) }})
        AND i.[has_filter] = 0
        AND x.[key_ordinal] BETWEEN 1 AND {{ dedup.columns | length }}
        AND QUOTENAME(c.[name]) IN ({% for column in dedup.columns %}{{ text(column) }}{{ ", " if not loop.last }}{% endfor %})
    GROUP BY i.[index_id]
    HAVING COUNT(*) = {{ dedup.columns | length }}
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Work] ON {{ table }} ({{ dedup.columns | join(", ") }});
GO
{%- endif %}
/*
What the table has no column for, in a row per item that a worker has had in hands: {{ called.table }} itself keeps its shape.
Times are UTC. Where the table has a column, that column counts, and this is a copy.
*/
IF OBJECT_ID({{ literal(queue ~ "_Lease") }}, N'U') IS NULL
    CREATE TABLE {{ object(queue ~ "_Lease") }} (
{{- n.declared(key) }}
        [Status] varchar(20) NOT NULL,
        [Step] nvarchar(60) NULL,
        [AttemptNum] int NOT NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [StartedAt] datetime2(7) NULL,
        [FinishedAt] datetime2(7) NULL,
        [Duration] bigint NULL,
        [DueAt] datetime2(7) NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [LeaseUntil] datetime2(7) NULL,
        CONSTRAINT [PK_{{ queue }}_Lease] PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue ~ "_Lease") }}) AND i.[name] LIKE N'IX_{{ queue }}_Lease_InFlight%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Lease_InFlight] ON {{ object(queue ~ "_Lease") }} ([StartedAt])
    WHERE [Status] = 'Processing';
GO
{%- if parks_errors %}
/* The table has no due time: items that wait for their next attempt stand in it as taken, and here until they are due. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue ~ "_Lease") }}) AND i.[name] LIKE N'IX_{{ queue }}_Lease_Waiting%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Lease_Waiting] ON {{ object(queue ~ "_Lease") }} ([DueAt])
    WHERE [Status] = 'Error';
GO
{%- endif %}
{%- if completion == "history" %}
/* Completed items move here. The join keeps an identity from being one here too. */
IF OBJECT_ID({{ text(history_table) }}, N'U') IS NULL
    SELECT TOP (0) q.*
    INTO {{ history_table }}
    FROM {{ table }} AS q
    CROSS JOIN (SELECT 1 AS [One]) AS o;
GO
{%- endif %}
{%- if group %}
/* What its claims lock in turn. */
IF NOT EXISTS (SELECT 1 FROM {{ object("QueueTurn") }} AS t WHERE t.[Queue] = '{{ queue }}')
    INSERT INTO {{ object("QueueTurn") }} ([Queue]) VALUES ('{{ queue }}');
GO
{%- endif %}
{%- if role.error %}
/*
As much of an error as its column takes. Asked here, since who calls the procedures may have no right to see the column.
*/
DELETE FROM {{ object("AppSettings") }} WHERE [Param] = '{{ setting }}.errorChars';
GO
INSERT INTO {{ object("AppSettings") }} ([Param], [ValInt])
SELECT
    '{{ setting }}.errorChars',
    CASE WHEN TYPE_NAME(c.[system_type_id]) IN (N'nvarchar', N'nchar') THEN c.[max_length] / 2 ELSE c.[max_length] END
FROM sys.columns AS c
WHERE
    c.[object_id] = OBJECT_ID({{ text(table) }})
    AND QUOTENAME(c.[name]) = {{ text(role.error) }}
    AND TYPE_NAME(c.[system_type_id]) IN (N'nvarchar', N'nchar', N'varchar', N'char')
    AND c.[max_length] > 0;
GO
{%- endif %}
