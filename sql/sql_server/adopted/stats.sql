{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Stats_" ~ queue -%}
{%- set offset = "@Offset" -%}
{%- set began = role.due or role.enqueued -%}
/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan; means and percentiles
are of the 10,000 newest items that a worker has started and finished. Times in milliseconds: wait is from when an item
was due, or enqueued, to the start of its last attempt, run from there to its end. What {{ called.table }} has no column
for is known only of items that {{ queue }}_Lease still keeps.
{%- if completion == "keep" and role.enqueued %}
workers.needed is Little's law: the arrivals of the last hour per millisecond, times the mean run, divided by 0.8 so that
workers are idle for a fifth of their time and waits stay short; at least one while there is work.
{%- endif %}
Table access order: {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
{% include "adopted/_clock_variables.sql" %}
    DECLARE @Count bigint;
    DECLARE @DueCount bigint;
    DECLARE @OldestMs bigint;
    DECLARE @Expired bigint;
    DECLARE @Busy bigint;
    DECLARE @Arrivals bigint;
    DECLARE @RunMean float;
    DECLARE @WaitMean float;
    DECLARE @Now_Items TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY, [Items] bigint NOT NULL, [Late] bigint NOT NULL);
    DECLARE @Recent TABLE ([WaitMs] bigint NULL, [RunMs] bigint NOT NULL);
    DECLARE @Sample TABLE ([Metric] varchar(10) NOT NULL, [Ms] bigint NOT NULL, [Rank] bigint NOT NULL);
{% filter replace("\n        ", "\n    ") %}{% include "adopted/_clock.sql" %}{% endfilter %}

    INSERT INTO @Now_Items ([Status], [Items], [Late])
    SELECT
        v.[Status],
        COUNT_BIG(*),
        SUM(CASE WHEN v.[Status] = 'Processing' AND v.[Until] <= @Now THEN 1 ELSE 0 END)
    FROM (
        SELECT
{% filter indent(12, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [Status],
            {{ n.until(role, foreign, local_time, lease_ms) }} AS [Until]
        FROM {{ table }} AS q
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "q") }}
    ) AS v
    GROUP BY v.[Status];
    SET @Expired = COALESCE((SELECT SUM(i.[Late]) FROM @Now_Items AS i), 0);
    SET @Busy = COALESCE((SELECT SUM(i.[Items] - i.[Late]) FROM @Now_Items AS i WHERE i.[Status] = 'Processing'), 0);

    SELECT
        @DueCount = COUNT_BIG(*),
        @OldestMs = {% if began %}DATEDIFF_BIG(MILLISECOND, MIN(q.{{ began }}), @At){% else %}NULL{% endif %}
    FROM {{ table }} AS q
    WHERE
        {{ n.stands(pending) }}{% if role.due %}
        AND (q.{{ role.due }} IS NULL OR q.{{ role.due }} <= @At){% endif %};

    INSERT INTO @Recent ([WaitMs], [RunMs])
    SELECT TOP (10000)
        CASE WHEN x.[StartedAt] > x.[Began] THEN DATEDIFF_BIG(MILLISECOND, x.[Began], x.[StartedAt]) WHEN x.[Began] IS NOT NULL THEN 0 END,
        COALESCE(x.[Duration], DATEDIFF_BIG(MILLISECOND, x.[StartedAt], x.[FinishedAt]))
    FROM (
        SELECT
{% filter indent(12, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [Status],
            {{ n.started(role, run_time, local_time) }} AS [StartedAt],
            {% if role.finished %}{{ n.utc("q." ~ role.finished, local_time) }}{% else %}s.[FinishedAt]{% endif %} AS [FinishedAt],
            {% if role.duration %}CAST(q.{{ role.duration }} AS bigint){% else %}s.[Duration]{% endif %} AS [Duration],
            {% if began %}{{ n.utc("q." ~ began, local_time) }}{% else %}CAST(NULL AS datetime2(7)){% endif %} AS [Began]
        FROM {{ table }} AS q WITH (READPAST, READCOMMITTEDLOCK)
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "q") }}
    ) AS x
    WHERE
        {{ object("QueueIsFinished_fn") }}(x.[Status]) = 1
        AND x.[StartedAt] IS NOT NULL
        AND COALESCE(x.[Duration], DATEDIFF_BIG(MILLISECOND, x.[StartedAt], x.[FinishedAt])) >= 0
    ORDER BY x.[StartedAt] DESC;

    SELECT
        @Count = COUNT_BIG(*),
        @RunMean = AVG(CAST(r.[RunMs] AS float)),
        @WaitMean = AVG(CAST(r.[WaitMs] AS float))
    FROM @Recent AS r;
{%- if completion == "keep" and role.enqueued %}

    SET @Arrivals = (
        SELECT COUNT_BIG(*) FROM {{ table }} AS q
        WHERE q.{{ role.enqueued }} > DATEADD(HOUR, -1, @At) AND q.{{ role.enqueued }} <= @At
    );
{%- endif %}

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'wait', r.[WaitMs], ROW_NUMBER() OVER (ORDER BY r.[WaitMs]) FROM @Recent AS r WHERE r.[WaitMs] IS NOT NULL;

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'run', r.[RunMs], ROW_NUMBER() OVER (ORDER BY r.[RunMs]) FROM @Recent AS r;

    SELECT
        CONCAT('count.', s.[Status]) AS [Name],
        CAST(COALESCE(i.[Items], 0) AS bigint) AS [Value]
    FROM {{ object("QueueStatus") }} AS s
    LEFT JOIN @Now_Items AS i
        ON i.[Status] = s.[Status]
    UNION ALL
    SELECT 'due.count', @DueCount
    UNION ALL
    SELECT 'due.oldest_ms', @OldestMs
    UNION ALL
    SELECT 'lease.expired', @Expired
    UNION ALL
    SELECT 'sample.items', @Count
    UNION ALL
    SELECT 'run.mean_ms', CAST(@RunMean AS bigint)
    UNION ALL
    SELECT 'wait.mean_ms', CAST(@WaitMean AS bigint)
    UNION ALL
    SELECT 'arrivals.last_hour', @Arrivals
    UNION ALL
    SELECT 'workers.busy', @Busy
    UNION ALL
    SELECT
        'workers.needed',
        CASE
            WHEN @Arrivals IS NULL THEN NULL
            WHEN
                CEILING(@Arrivals / 3600000.0 * COALESCE(@RunMean, 0) / 0.8) < 1
                THEN CASE WHEN @DueCount + @Busy + @Expired > 0 THEN 1 ELSE 0 END
            ELSE CAST(CEILING(@Arrivals / 3600000.0 * COALESCE(@RunMean, 0) / 0.8) AS bigint)
        END
    UNION ALL
    SELECT CONCAT(s.[Metric], '.', p.[Name], '_ms'), s.[Ms]
    FROM (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent])
    INNER JOIN @Sample AS s
        ON s.[Rank] = (
            (SELECT COUNT_BIG(*) FROM @Sample AS o WHERE o.[Metric] = s.[Metric]) * p.[Percent] + 99
        ) / 100;

    RETURN 0;
END;
GO
