/* Stored with what is created below: no filtered index works without the two. */
SET ANSI_NULLS, QUOTED_IDENTIFIER ON;
GO
/* {{ queue }}: the items. A row is both a domain record and a work item. */
IF OBJECT_ID({{ literal(queue ~ "Type") }}, N'U') IS NULL
    CREATE TABLE {{ object(queue ~ "Type") }} (
        [Type] {{ object("_Type") }} NOT NULL,
        CONSTRAINT [PK_{{ queue }}Type] PRIMARY KEY CLUSTERED ([Type])
    );
GO
{%- for type in types %}
INSERT INTO {{ object(queue ~ "Type") }} ([Type])
SELECT {{ text(type) }}
WHERE NOT EXISTS (SELECT 1 FROM {{ object(queue ~ "Type") }} AS t WHERE t.[Type] = {{ text(type) }});
GO
{%- endfor %}
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
IF OBJECT_ID({{ literal(queue ~ "_Seq") }}, N'SO') IS NULL
    CREATE SEQUENCE {{ object(queue ~ "_Seq") }} AS bigint START WITH 1 INCREMENT BY 1 CACHE 1000;
GO
IF OBJECT_ID({{ literal(queue) }}, N'U') IS NULL
    CREATE TABLE {{ object(queue) }} (
        [EnqueuedAt] {{ object("_Timestamp") }} NOT NULL,
        [Type] {{ object("_Type") }} NOT NULL,
        [Status] {{ object("QueueState") }} NOT NULL,
        [Step] {{ object("QueueStep") }} NULL,
        [AttemptNum] {{ object("AttemptNum") }} NOT NULL,
        [Response] {{ object("WebResponse") }} NULL DEFAULT (''),
        [Error] {{ object("WebResponse") }} NULL DEFAULT (''),
        [StartedAt] {{ object("_Timestamp") }} NULL,
        [Duration] {{ object("Duration") }} NULL,
        [ScheduledFor] {{ object("_Timestamp") }} NOT NULL,
        [UpdatedAt] {{ object("_Timestamp") }} NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [LeaseUntil] datetime2(7) NULL,
{%- for column in columns %}
        {{ column.quoted }} {{ column.type }} {{ "NULL" if column.nullable else "NOT NULL" }},
{%- endfor %}
        CONSTRAINT [PK_{{ queue }}] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [{{ queue }}_IsDiscriminatedBy_{{ queue }}Type]
            FOREIGN KEY ([Type]) REFERENCES {{ object(queue ~ "Type") }} ([Type]),
        CONSTRAINT [{{ queue }}_IsStatedBy_QueueStatus]
            FOREIGN KEY ([Status]) REFERENCES {{ object("QueueStatus") }} ([Status])
    );
GO
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog. UpdatedAt is left out on purpose: the claim must visit the row itself, and so lock it, while READPAST still
lets it pass over rows that others hold; were the index to cover the claim, the row would be locked only by the update,
in the opposite order to a procedure that goes by the key.
*/
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    /* LIKE: there are servers that add to the name of an index what makes it unique in the database. */
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue) }}) AND i.[name] LIKE N'IX_{{ queue }}_{{ "Type" if own_types_only }}Due%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_{{ "Type" if own_types_only }}Due] ON {{ object(queue) }} (
        {{- "[Type], " if own_types_only }}
        {%- for column in due_columns -%}
        {{ column.quoted }}{{ " DESC" if column.descending }}{{ ", " if not loop.last }}
        {%- endfor -%}
    )
    WHERE [Status] IN ('Pending', 'Error');
GO
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue) }}) AND i.[name] LIKE N'IX_{{ queue }}_InFlight%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_InFlight] ON {{ object(queue) }} ([StartedAt])
    WHERE [Status] = 'Processing';
GO
{%- if group %}
/* The claim asks here whether an item is the first unfinished one of its group, and whether one of it is in flight. */
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue) }}) AND i.[name] LIKE N'IX_{{ queue }}_Group%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Group] ON {{ object(queue) }} ({{ group }}, [EnqueuedAt])
    WHERE [Status] IN ('Pending', 'Processing', 'Error', 'Paused');
GO
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue) }}) AND i.[name] LIKE N'IX_{{ queue }}_Held%'
)
    CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Held] ON {{ object(queue) }} ({{ group }})
    WHERE [Status] = 'Processing';
GO
{%- endif %}
{%- if dedup %}
/* What makes an item unique{{ " among the unfinished ones" if dedup.unfinished_only }}. Enqueueing asks here, and locks what it asks for. */
{%- set nullable = work | selectattr("nullable") | list %}
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes AS i
    WHERE i.[object_id] = OBJECT_ID({{ literal(queue) }}) AND i.[name] LIKE N'IX_{{ queue }}_Work%'
)
    CREATE UNIQUE NONCLUSTERED INDEX [IX_{{ queue }}_Work] ON {{ object(queue) }} ({{ dedup.columns | join(", ") }})
    {%- if dedup.unfinished_only or nullable %}
    WHERE {{ "[Status] IN ('Pending', 'Processing', 'Error', 'Paused')" if dedup.unfinished_only }}
    {%- for column in nullable %}
    {{- " AND " if dedup.unfinished_only or not loop.first }}{{ column.quoted }} IS NOT NULL
    {%- endfor %}
    {%- endif -%}
;
GO
{%- endif %}
{%- if history_name %}
/* What is completed is moved here. */
IF OBJECT_ID({{ literal(history_name) }}, N'U') IS NULL
    CREATE TABLE {{ object(history_name) }} (
        [EnqueuedAt] {{ object("_Timestamp") }} NOT NULL,
        [Type] {{ object("_Type") }} NOT NULL,
        [Status] {{ object("QueueState") }} NOT NULL,
        [Step] {{ object("QueueStep") }} NULL,
        [AttemptNum] {{ object("AttemptNum") }} NOT NULL,
        [Response] {{ object("WebResponse") }} NULL,
        [Error] {{ object("WebResponse") }} NULL,
        [StartedAt] {{ object("_Timestamp") }} NULL,
        [Duration] {{ object("Duration") }} NULL,
        [ScheduledFor] {{ object("_Timestamp") }} NOT NULL,
        [UpdatedAt] {{ object("_Timestamp") }} NOT NULL,
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [LeaseUntil] datetime2(7) NULL,
{%- for column in columns %}
        {{ column.quoted }} {{ column.type }} {{ "NULL" if column.nullable else "NOT NULL" }},
{%- endfor %}
        CONSTRAINT [PK_{{ queue }}_History] PRIMARY KEY CLUSTERED ([EnqueuedAt])
    );
GO
{%- endif %}
{%- if subtypes %}
{% include "relational/_subtypes.sql" %}
{%- endif %}
{%- if group %}
/* What its claims lock in turn. */
IF NOT EXISTS (SELECT 1 FROM {{ object("QueueTurn") }} AS t WHERE t.[Queue] = '{{ queue }}')
    INSERT INTO {{ object("QueueTurn") }} ([Queue]) VALUES ('{{ queue }}');
GO
{%- endif %}
