{% import "macro/item.sql" as item -%}
{%- set procedure = "Stats_" ~ queue -%}
{%- set began = role.due or role.enqueued -%}
{%- set arrivals = role.enqueued and (completion == "keep" or (t.history and not beside)) -%}
{% filter made("PROCEDURE", procedure) %}
/*
Figures about the queue, one row each: its name and its value. One pass over the table gives the counts; rows that
somebody holds at that moment are not in them, so that nobody is waited for. Means and percentiles are of the 10,000
newest items that a worker has started and finished. Times in milliseconds: wait is from when an item was due, or
enqueued, to the start of its last attempt, claimed from there to its end, with the wait in the worker's hand.
{%- if steps %}
step.<status>.<step> is how many items of a state are at a step of the description; without a step's name, at none of
them. A figure that would be 0 has no row.
{%- endif %}
{%- if beside %} What {{ called.table }} has no column for
is known only of items that {{ queue }}_Lease still keeps.
{%- endif %}
{%- if arrivals %}
workers.needed is Little's law: the arrivals of the last hour per millisecond, times the mean time claimed, divided by 0.8 so that
workers are idle for a fifth of their time and waits stay short; at least one while items are due or in flight.
{%- else %}
Nobody knows how many have arrived, since what is completed leaves the table: those two are NULL.
{%- endif %}
Table access order: {{ called.table }}{{ ", its history" if t.history and not beside }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
AS
BEGIN
{% include "part/head.sql" %}
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
{% include "part/clock_variables.sql" %}
    DECLARE @_Count bigint, @_Arrivals bigint, @_ClaimedMean float, @_WaitMean float;
    DECLARE @_State TABLE (
        [Status] varchar(20) NOT NULL{{ " PRIMARY KEY" if not steps }},
{%- if steps %}
        [Step] int NOT NULL, /* its place among the steps of the description; 0: none of them */
{%- endif %}
        [Items] bigint NOT NULL,
        [Late] bigint NULL, /* in work, the lease over */
        [Due] bigint NULL,
        [Oldest] datetime2(7) NULL, /* the earliest due time, by the table's clock */
        [Arrived] bigint NULL{{ "," if steps }} /* within the last hour */
{%- if steps %}
        PRIMARY KEY ([Status], [Step])
{%- endif %}
    );
    DECLARE @_Recent TABLE ([WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL);
{% include "part/clock.sql" %}

    INSERT INTO @_State ([Status], {{ "[Step], " if steps }}[Items], [Late], [Due], [Oldest], [Arrived])
    SELECT x.[Status],
{%- if steps %}
        x.[Step],
{%- endif %}
        COUNT_BIG(*), SUM(CASE WHEN x.[Status] = 'Processing' AND x.[Until] <= @_Now THEN 1 ELSE 0 END),
        SUM(x.[IsDue]), NULLIF(MIN(CASE WHEN x.[IsDue] = 1 THEN x.[Began] ELSE '9999-12-31' END), '9999-12-31'), SUM(x.[IsNew])
    FROM (
        SELECT
            {{ item.status(t) }} AS [Status],
{%- if steps %}
            CASE {{ item.step(t) }}
{%- for step in steps %}
                WHEN {{ text(step) }} THEN {{ loop.index }}
{%- endfor %}
                ELSE 0
            END AS [Step],
{%- endif %}
            {{ item.until(t, lease_ms) }} AS [Until],
            CASE WHEN {{ item.waits(t) }}{{ item.and_free_here(t) }}{% if role.due %} AND (q.{{ role.due }} IS NULL OR q.{{ role.due }} <= {{ at }}){% endif %} THEN 1 ELSE 0 END AS [IsDue],
            {{ "CAST(q." ~ began ~ " AS datetime2(7))" if began else "CAST(NULL AS datetime2(7))" }} AS [Began],
            {% if arrivals %}CASE WHEN {{ item.lately("q." ~ role.enqueued, at) }} THEN 1 ELSE 0 END{% else %}CAST(NULL AS int){% endif %} AS [IsNew]
        FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
{{- item.beside(t, item.looked_at(t)) | indent(8) }}
{{- item.its(t, "\n        WHERE ") }}
    ) AS x
    GROUP BY x.[Status]{{ ", x.[Step]" if steps }};
{%- if arrivals %}
    SET @_Arrivals = COALESCE((SELECT SUM(s.[Arrived]) FROM @_State AS s), 0);
{%- if t.history and not beside %}
    SET @_Arrivals = @_Arrivals + (
        SELECT COUNT_BIG(*)
        FROM {{ t.history }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE {{ item.lately("q." ~ role.enqueued, at) }}
    );
{%- endif %}
{%- endif %}

    INSERT INTO @_Recent ([WaitMs], [ClaimedMs])
    SELECT TOP (10000)
        CASE
            WHEN x.[StartedAt] > x.[Began] THEN DATEDIFF_BIG(MILLISECOND, x.[Began], x.[StartedAt])
            WHEN x.[Began] IS NOT NULL THEN 0
        END,
        x.[Duration]
    FROM (
{%- for source in [table] + ([t.history] if t.history and not beside else []) %}
{%- if not loop.first %}
        UNION ALL
{%- endif %}
        SELECT
            {{ item.status(t) }} AS [Status],
            {{ item.of_item(t) if own else item.started(t) ~ " AS [Newest]" }},
            {{ item.started(t) }} AS [StartedAt],
            {% if role.duration and not beside %}CAST({{ item.duration(t) }} AS bigint){% elif beside %}COALESCE(
                {{ "CAST(q." ~ role.duration ~ " AS bigint)" if role.duration else "s.[Duration]" }},
                DATEDIFF_BIG(
                    MILLISECOND,
                    {{ item.started(t) }},
                    {{ item.utc(t, "q." ~ role.finished) if role.finished else "s.[FinishedAt]" }}
                )
            ){% else %}{{ item.duration(t) }}{% endif %} AS [Duration],
            {{ item.utc(t, "q." ~ began) if began else "CAST(NULL AS datetime2(7))" }} AS [Began]
        FROM {{ source }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
{{- item.beside(t, item.looked_at(t)) | indent(8) }}
{{- item.its(t, "\n        WHERE ") }}
{%- endfor %}
    ) AS x
    WHERE
        {{ "x.[Duration] IS NOT NULL" if own else item.finished("x.[Status]") }}
        AND x.[StartedAt] IS NOT NULL AND x.[Duration] >= 0
    ORDER BY x.{{ key[0].quoted if own else "[Newest]" }} DESC;

    SELECT
        @_Count = COUNT_BIG(*), @_ClaimedMean = AVG(CAST(r.[ClaimedMs] AS float)),
        @_WaitMean = (SELECT AVG(CAST(w.[WaitMs] AS float)) FROM @_Recent AS w WHERE w.[WaitMs] IS NOT NULL)
    FROM @_Recent AS r;

    SELECT CONCAT('count.', s.[Status]) AS [Name], CAST(COALESCE(i.[Items], 0) AS bigint) AS [Value]
    FROM {{ object("QueueStatus") }} AS s
    LEFT JOIN {% if steps %}(
        SELECT a.[Status], SUM(a.[Items]) AS [Items]
        FROM @_State AS a
        GROUP BY a.[Status]
    ){% else %}@_State{% endif %} AS i
        ON i.[Status] = s.[Status]
{%- if steps %}
    UNION ALL
    SELECT CONCAT('step.', i.[Status], '.', n.[Name]), i.[Items]
    FROM (VALUES (0, N''){% for step in steps %}, ({{ loop.index }}, {{ text(step) }}){% endfor %}) AS n ([Step], [Name])
    INNER JOIN @_State AS i ON i.[Step] = n.[Step]
{%- endif %}
    UNION ALL
    SELECT v.[Name], v.[Value]
    FROM (
        SELECT
            COALESCE(SUM(i.[Due]), 0) AS [Due], MIN(i.[Oldest]) AS [Oldest], COALESCE(SUM(i.[Late]), 0) AS [Late],
            COALESCE(SUM(CASE WHEN i.[Status] = 'Processing' THEN i.[Items] - i.[Late] END), 0) AS [Held],
            MAX(CASE WHEN i.[Status] = 'Processing' OR i.[Due] > 0 THEN 1 ELSE 0 END) AS [IsWork]
        FROM @_State AS i
    ) AS a
    CROSS APPLY (VALUES
        ('due.count', a.[Due]),
        ('due.oldest_ms', DATEDIFF_BIG(MILLISECOND, a.[Oldest], {{ at }})),
        ('lease.expired', a.[Late]), ('sample.items', @_Count), ('claimed.mean_ms', CAST(@_ClaimedMean AS bigint)),
        ('wait.mean_ms', CAST(@_WaitMean AS bigint)), ('arrivals.last_hour', @_Arrivals), ('claimed.count', a.[Held]),
        (
            'workers.needed',
            CASE
                WHEN @_Arrivals IS NULL THEN NULL
                WHEN CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) >= 1
                    THEN CAST(CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) AS bigint)
                ELSE COALESCE(a.[IsWork], 0)
            END
        )
    ) AS v ([Name], [Value])
    UNION ALL
{%- set sample = "@_Recent" %}
{%- set more = "" %}
{% include "part/percentiles.sql" %};
END;
{% endfilter %}
