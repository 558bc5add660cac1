{% filter made("TABLE", queue ~ "Type") %}
/* {{ queue }}: the items. A row is both a domain record and a work item. */
IF OBJECT_ID({{ literal(queue ~ "Type") }}, N'U') IS NULL
    CREATE TABLE {{ object(queue ~ "Type") }} (
        [Type] nvarchar(60) NOT NULL,
        CONSTRAINT [PK_{{ queue }}Type] PRIMARY KEY CLUSTERED ([Type])
    );
{% endfilter %}
{%- for type in types %}
{% filter statement %}
INSERT INTO {{ object(queue ~ "Type") }} ([Type])
SELECT {{ text(type) }}
WHERE NOT EXISTS (SELECT 1 FROM {{ object(queue ~ "Type") }} AS t WHERE t.[Type] = {{ text(type) }});
{% endfilter %}
{%- endfor %}
{% filter made("SEQUENCE", queue ~ "_Seq") %}
/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
IF OBJECT_ID({{ literal(queue ~ "_Seq") }}, N'SO') IS NULL
    CREATE SEQUENCE {{ object(queue ~ "_Seq") }} AS bigint START WITH 1 INCREMENT BY 1 CACHE 1000;
{% endfilter %}
{% filter made("TABLE", place) %}
IF OBJECT_ID({{ literal(queue) }}, N'U') IS NULL
    CREATE TABLE {{ table }} (
        [EnqueuedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NOT NULL, [Status] varchar(20) NOT NULL,
        [Step] nvarchar(60) NULL, [AttemptNum] int NOT NULL,
        [Response] nvarchar(max) NULL CONSTRAINT [DF_{{ queue }}_Response] DEFAULT (''),
        [Error] nvarchar(max) NULL CONSTRAINT [DF_{{ queue }}_Error] DEFAULT (''),
        [StartedAt] datetime2(7) NULL, [Duration] bigint NULL, [ScheduledFor] datetime2(7) NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
        /* The claim that took it, for a caller that lost the answer. Below zero: it goes alone. */
        [ClaimNum] bigint NULL,
{%- if shards %}
        {{ shard.column(shards) }},
{%- endif %}
{%- for c in t.columns %}
        {{ of.declared(c) }},
{%- endfor %}{{ of.constraints(t.columns) }}
        CONSTRAINT [PK_{{ queue }}] PRIMARY KEY CLUSTERED ([EnqueuedAt]),
        CONSTRAINT [{{ queue }}_IsDiscriminatedBy_{{ queue }}Type]
            FOREIGN KEY ([Type]) REFERENCES {{ object(queue ~ "Type") }} ([Type]),
        CONSTRAINT [CK_{{ queue }}_Status] CHECK ([Status] IN (
            'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'
        ))
    );
{% endfilter %}
{% filter statement %}
/* A table of an earlier state has no place yet for the number of a claim. */
IF COL_LENGTH({{ literal(queue) }}, N'ClaimNum') IS NULL
    ALTER TABLE {{ table }} ADD [ClaimNum] bigint NULL;
{% endfilter %}
{% filter statement %}
/* Many rows locked by one statement must never become the whole table, which nobody could read past. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID({{ literal(queue) }}) AND t.[lock_escalation] <> 1
)
    ALTER TABLE {{ table }} SET (LOCK_ESCALATION = DISABLE);
{% endfilter %}
{%- for search in ([{"stem": "", "columns": []}] if searches_all else []) + kind_searches %}
{% call index_of.create(
    "IX_" ~ queue ~ "_" ~ search.stem ~ "Due", place, ([column("Shard")] if shards else []) + search.columns + due_columns,
    include=[column("Status")] + ([indexed.group] if group and not t.group_in_due else []),
    where="[Status] IN ('Pending', 'Error')"
) %}
/*
The claim seeks here in the order it takes. Finished and in-flight rows are not in it, so it stays as small as the
backlog. UpdatedAt is left out on purpose: the claim must visit the row itself, and so lock it, while READPAST still
lets it pass over rows that others hold; were the index to cover the claim, the row would be locked only by the update,
in the opposite order to a procedure that goes by the key. In each index the columns of its filter stand too: without
them a query may visit, and lock, the row only to look at them once more.
{%- if shards %}
It begins with the shard, so that what waits has {{ shards }} heads, each on pages of its own.
{%- endif %}
*/
{%- endcall %}
{%- endfor %}
{% call index_of.create("IX_" ~ queue ~ "_InFlight", place, [column("StartedAt")], include=[column("Status")], where="[Status] = 'Processing'") %}
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
{%- endcall %}
{% call index_of.create(
    "IX_" ~ queue ~ "_Ended", place, [column("EnqueuedAt")], include=[column("Status")],
    where="[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')"
) %}
/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
{%- endcall %}
{%- set unfinished = "[Status] IN ('Pending', 'Processing', 'Error', 'Paused')" %}
{%- if group %}
{% call index_of.create("IX_" ~ queue ~ "_Group", place, [indexed.group, column("EnqueuedAt")], include=[column("Status")], where=unfinished) %}
/* The claim asks here whether an item is the first unfinished one of its group, and whether one of it is in flight. */
{%- endcall %}
{% call index_of.create("IX_" ~ queue ~ "_Held", place, [indexed.group], include=[column("Status")], where="[Status] = 'Processing'") %}
{%- endcall %}
{%- endif %}
{%- for l in limits if l.by %}
{%- if l.nth == sought.nth %}
{%- set ordered = due_columns | map(attribute="quoted") | list %}
{% call index_of.create(
    "IX_" ~ queue ~ "_Limited", place, [l.indexed] + (due_columns | rejectattr("quoted", "eq", l.quoted) | list),
    include=[column("Status")] + (filters | map(attribute="indexed") | rejectattr("quoted", "in", ordered) | list), where="[Status] IN ('Pending', 'Error')"
) %}
/* The claim seeks here what waits for each key that has room. */
{%- endcall %}
{%- endif %}
{% call index_of.create("IX_" ~ queue ~ "_InWork" ~ l.nth, place, [l.indexed], include=[column("Status")] + ([l.weight.indexed] if l.weight else []), where="[Status] = 'Processing'") %}
/* The claim counts here what is in work for a key. */
{%- endcall %}
{%- endfor %}
{%- if dedup %}
{%- set has_work = namespace(filter=[unfinished] if dedup.unfinished_only else []) %}
{%- for c in t.work if c.nullable %}{% set has_work.filter = has_work.filter + [c.quoted ~ " IS NOT NULL"] %}{% endfor %}
{% call index_of.create(
    "IX_" ~ queue ~ "_Work", place, indexed.same, include=[column("Status")] if dedup.unfinished_only else [],
    where=has_work.filter | join(" AND "), unique=true
) %}
/* The columns that make an item unique{{ " among the unfinished ones" if dedup.unfinished_only }}. Enqueueing asks here. */
{%- endcall %}
{%- endif %}
{%- if t.history %}
{% filter made("TABLE", history_place) %}
/* Completed items are moved here. */
IF OBJECT_ID({{ text(t.history) }}, N'U') IS NULL
    CREATE TABLE {{ t.history }} (
        [EnqueuedAt] datetime2(7) NOT NULL, [Type] nvarchar(60) NOT NULL, [Status] varchar(20) NOT NULL,
        [Step] nvarchar(60) NULL, [AttemptNum] int NOT NULL, [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL, [StartedAt] datetime2(7) NULL, [Duration] bigint NULL,
        [ScheduledFor] datetime2(7) NOT NULL, [UpdatedAt] datetime2(7) NOT NULL,
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
{%- for c in t.columns %}
        {{ of.history(c) }},
{%- endfor %}
        CONSTRAINT [PK_{{ queue }}_History] PRIMARY KEY CLUSTERED ([EnqueuedAt])
    );
{% endfilter %}
{%- endif %}
