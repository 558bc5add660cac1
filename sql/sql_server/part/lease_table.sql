{%- import "macro/limit.sql" as limit -%}
{% filter made("TABLE", queue ~ "_Lease") %}
/*
Values that the table has no column for, in a row per item that a worker has had in hands: {{ called.table }} itself keeps its shape.
Times are UTC. Where the table has a column, that column counts, and this is a copy.
*/
IF OBJECT_ID({{ literal(queue ~ "_Lease") }}, N'U') IS NULL
    CREATE TABLE {{ t.lease }} (
{%- for k in t.key %}
        {{ k.kept }} {{ k.type }}{{ k.collate }} NOT NULL,
{%- endfor %}
        [Status] varchar(20) NOT NULL, [Step] nvarchar(60) NULL, [AttemptNum] int NOT NULL,
        [Response] nvarchar(max) NULL, [Error] nvarchar(max) NULL, [StartedAt] datetime2(7) NULL,
        [FinishedAt] datetime2(7) NULL, [Duration] bigint NULL, [DueAt] datetime2(7) NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        /* Compared by code point: two workers whose names differ only in case are two workers. */
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL, [LeaseUntil] datetime2(7) NULL,
        /* The claim that took it, for a caller that lost the answer. Below zero: it goes alone. */
        [ClaimNum] bigint NULL,
        CONSTRAINT [PK_{{ queue }}_Lease] PRIMARY KEY CLUSTERED ({{ item.kept_names(t) }})
    );
{% endfilter %}
{% filter statement %}
/* A table of an earlier state has no place yet for the number of a claim. */
IF COL_LENGTH({{ literal(queue ~ "_Lease") }}, N'ClaimNum') IS NULL
    ALTER TABLE {{ t.lease }} ADD [ClaimNum] bigint NULL;
{% endfilter %}
{%- for l in limits if l.by %}
{% filter statement %}
/* Its {{ l.name }} when it began, for the limit by that. */
IF COL_LENGTH({{ literal(queue ~ "_Lease") }}, N'Limit{{ l.nth }}') IS NULL
    ALTER TABLE {{ t.lease }} ADD [Limit{{ l.nth }}] nvarchar(300) NULL;
{% endfilter %}
{%- if l.weight %}
{% filter statement %}
/* As how many it counts then. */
IF COL_LENGTH({{ literal(queue ~ "_Lease") }}, N'Weight{{ l.nth }}') IS NULL
    ALTER TABLE {{ t.lease }} ADD [Weight{{ l.nth }}] bigint NULL;
{% endfilter %}
{%- endif %}
{% filter statement %}
/* Items in work already have it as well. */
UPDATE s
SET [Limit{{ l.nth }}] = NULLIF({{ limit.text(l, "q." ~ l.quoted) }}, N''){{ ", [Weight" ~ l.nth ~ "] = q." ~ l.weight.quoted if l.weight }}
FROM {{ t.lease }} AS s
INNER JOIN {{ table }} AS q
    ON {{ item.kept_of(t) }}
WHERE
    s.[Status] = 'Processing'
    AND {{ "(" if l.weight }}COALESCE(s.[Limit{{ l.nth }}], N'') <> COALESCE({{ limit.text(l, "q." ~ l.quoted) }}, N'')
    {{- " OR COALESCE(s.[Weight" ~ l.nth ~ "], 1) <> COALESCE(q." ~ l.weight.quoted ~ ", 1))" if l.weight }};
{% endfilter %}
{% call index_of.create(
    "IX_" ~ queue ~ "_Lease_InWork" ~ l.nth, queue ~ "_Lease", [column("Limit" ~ l.nth)],
    include=[column("Status")] + ([column("Weight" ~ l.nth)] if l.weight else []), where="[Status] = 'Processing'"
) %}
/* The claim counts here what is in work for a key. */
{%- endcall %}
{%- endfor %}
{% filter statement %}
/* Many rows locked by one statement must never become the whole table, which nobody could read past. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID({{ literal(queue ~ "_Lease") }}) AND t.[lock_escalation] <> 1
)
    ALTER TABLE {{ t.lease }} SET (LOCK_ESCALATION = DISABLE);
{% endfilter %}
{% call index_of.create("IX_" ~ queue ~ "_Lease_InFlight", queue ~ "_Lease", [column("StartedAt")], include=[column("Status")], where="[Status] = 'Processing'") %}
/* Recovery walks the items in flight, oldest claim first. LeaseUntil is in no index: a renewal moves no index row. */
{%- endcall %}
{%- if t.parks_errors %}
{% call index_of.create("IX_" ~ queue ~ "_Lease_Waiting", queue ~ "_Lease", [column("DueAt")], include=[column("Status")], where="[Status] = 'Error'") %}
/* The table has no due time: items that wait for their next attempt stand in it as taken, and here until they are due. */
{%- endcall %}
{%- endif %}
