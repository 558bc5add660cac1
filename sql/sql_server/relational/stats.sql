{%- set procedure = "Stats_" ~ queue -%}
/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table's smallest
index; percentiles and means are of the 10,000 newest items that a worker has started and finished. Times in
milliseconds: wait is from ScheduledFor to StartedAt, run is Duration.
workers.needed is how many must work at once to keep up (Little's law): arrivals per time, times the mean run, at 80 per
cent of their time, and one at least while there is work.
{%- if completion == "delete" %}
What is completed is deleted here, so nobody knows how many have arrived: those two are NULL.
{%- endif %}
Table access order: {{ queue }}{{ ", its history" if history_name }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @Count bigint;
    DECLARE @Arrivals bigint;
    DECLARE @Needed bigint;
    DECLARE @Sample TABLE ([Metric] varchar(10) NOT NULL, [Ms] bigint NOT NULL, [Rank] bigint NOT NULL);
    DECLARE @Recent TABLE ([WaitMs] bigint NOT NULL, [RunMs] bigint NOT NULL);

    INSERT INTO @Recent ([WaitMs], [RunMs])
    SELECT TOP (10000)
        CASE
            WHEN q.[StartedAt] > q.[ScheduledFor] THEN DATEDIFF_BIG(MILLISECOND, q.[ScheduledFor], q.[StartedAt])
            ELSE 0
        END,
        q.[Duration]
{%- if history_name %}
    FROM (
        SELECT a.[EnqueuedAt], a.[ScheduledFor], a.[StartedAt], a.[Duration]
        FROM {{ object(queue) }} AS a WITH (READPAST, READCOMMITTEDLOCK)
        UNION ALL
        SELECT b.[EnqueuedAt], b.[ScheduledFor], b.[StartedAt], b.[Duration]
        FROM {{ object(history_name) }} AS b WITH (READPAST, READCOMMITTEDLOCK)
    ) AS q
{%- else %}
    FROM {{ object(queue) }} AS q WITH (READPAST, READCOMMITTEDLOCK)
{%- endif %}
    WHERE
        q.[StartedAt] IS NOT NULL
        AND q.[Duration] IS NOT NULL
    ORDER BY q.[EnqueuedAt] DESC;

    SET @Count = (SELECT COUNT_BIG(*) FROM @Recent);
{%- if completion != "delete" %}
    SET @Arrivals = (
        SELECT COUNT_BIG(*) FROM {{ object(queue) }} AS q WHERE q.[EnqueuedAt] > DATEADD(HOUR, -1, @Now)
    );
{%- if history_name %}
    SET @Arrivals = @Arrivals + (
        SELECT COUNT_BIG(*) FROM {{ object(history_name) }} AS q WHERE q.[EnqueuedAt] > DATEADD(HOUR, -1, @Now)
    );
{%- endif %}
    SET @Needed = (
        SELECT CEILING(@Arrivals * COALESCE(AVG(r.[RunMs]), 0) / (3600000 * 0.8)) FROM @Recent AS r
    );
    IF
        @Needed = 0
        AND EXISTS (
            SELECT 1 FROM {{ object(queue) }} AS q WHERE q.[Status] IN ('Pending', 'Processing', 'Error')
        )
        SET @Needed = 1;
{%- endif %}

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'wait', r.[WaitMs], ROW_NUMBER() OVER (ORDER BY r.[WaitMs]) FROM @Recent AS r;

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'run', r.[RunMs], ROW_NUMBER() OVER (ORDER BY r.[RunMs]) FROM @Recent AS r;

    SELECT
        CONCAT('count.', s.[Status]) AS [Name],
        CAST(COALESCE(c.[Items], 0) AS bigint) AS [Value]
    FROM {{ object("QueueStatus") }} AS s
    LEFT JOIN (
        SELECT q.[Status], COUNT_BIG(*) AS [Items]
        FROM {{ object(queue) }} AS q
        GROUP BY q.[Status]
    ) AS c
        ON c.[Status] = s.[Status]
    UNION ALL
    SELECT 'due.count', COUNT_BIG(*)
    FROM {{ object(queue) }} AS q
    WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @Now
    UNION ALL
    SELECT 'due.oldest_ms', DATEDIFF_BIG(MILLISECOND, MIN(q.[ScheduledFor]), @Now)
    FROM {{ object(queue) }} AS q
    WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @Now
    UNION ALL
    SELECT 'lease.expired', COUNT_BIG(*)
    FROM {{ object(queue) }} AS q
    WHERE q.[Status] = 'Processing' AND q.[LeaseUntil] <= @Now
    UNION ALL
    SELECT 'sample.items', @Count
    UNION ALL
    SELECT CONCAT(s.[Metric], '.', p.[Name], '_ms'), s.[Ms]
    FROM (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent])
    INNER JOIN @Sample AS s
        ON s.[Rank] = (@Count * p.[Percent] + 99) / 100
    UNION ALL
    SELECT 'wait.mean_ms', AVG(r.[WaitMs]) FROM @Recent AS r
    UNION ALL
    SELECT 'run.mean_ms', AVG(r.[RunMs]) FROM @Recent AS r
    UNION ALL
    SELECT 'arrivals.last_hour', @Arrivals
    UNION ALL
    SELECT 'workers.busy', COUNT_BIG(*)
    FROM {{ object(queue) }} AS q
    WHERE q.[Status] = 'Processing' AND q.[LeaseUntil] > @Now
    UNION ALL
    SELECT 'workers.needed', @Needed;

    RETURN 0;
END;
GO
