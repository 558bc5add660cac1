{% import "macro/item.sql" as item -%}
{%- import "macro/in_flight.sql" as flight -%}
{%- import "macro/shard.sql" as shard -%}
{%- set procedure = "Watch_" ~ queue -%}
{%- set arrivals = role.enqueued and (completion == "keep" or (t.history and not beside)) -%}
{#- Whether an item that is completed, and stays, says when it began and how long it took: else nobody can count what ended. -#}
{%- set ends = arrivals and (own or (role.started and (role.finished or role.duration) and not run_time)) -%}
{%- set hints = "ROWLOCK, READPAST, READCOMMITTEDLOCK" -%}
{%- set by_type = role.kind and types | length > 1 -%}
{%- set typed = by_type or own_types_only -%}
{#- Whether the caller may see more of the type than numbers. -#}
{%- macro may_see(type) %}EXISTS (SELECT 1 FROM @_Mine AS a WHERE a.[Type] IN ({{ type }}, N'*')){% endmacro -%}
{%- set newest -%}{% for k in t.key %}q.{{ k.quoted }} DESC{{ ", " if not loop.last }}{% endfor %}{%- endset -%}
{#- At most so many rows, with the values of each. -#}
{%- macro seen(look, more=1) %}
    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until]{{ ", [Type]" if typed }}{{ ", [Shard]" if shards }})
    SELECT TOP (@Most + {{ more }})
        '{{ look }}',
        {{ item.one_text(t.key[0], "q." ~ t.key[0].quoted) if own else item.as_text(t, "q", "quoted") }},
        {{ item.status(t) }},
        LEFT({{ item.error(t) }}, 200),
        {{ item.utc(t, "q." ~ role.enqueued) if role.enqueued else "CAST(NULL AS datetime2(7))" }},
        {{ item.started(t) }},
        CAST({{ item.duration(t) }} AS bigint),
        {{ item.due_at(t) }},
        {{ item.owner(t) }},
        {{ item.until(t, lease_ms) }}{% if typed %},
        CAST(q.{{ role.kind }} AS nvarchar(60)){% endif %}{% if shards %},
        {{ "q.[Shard]" if look == "W" else "NULL" }}{% endif %}
{%- endmacro -%}
{#- From the table, or from the rows beside it and then the table. -#}
{%- macro from_table(index="", source=table) %}
    FROM {{ source }} AS q WITH ({{ hints }}{{ ", INDEX (" ~ index ~ ")" if index }})
{{- item.beside(t, item.looked_at(t)) | indent(4) }}
{%- endmacro -%}
{%- macro from_lease(index) %}
    FROM {{ t.lease }} AS s WITH ({{ hints }}, INDEX ([IX_{{ queue }}_Lease_{{ index }}]))
    INNER JOIN {{ table }} AS q WITH ({{ hints }})
        ON {{ item.among(t) }}{{ item.kept_of(t) }}
{%- endmacro -%}
{% filter made("PROCEDURE", procedure) %}
/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
@Most rows and {{ "a few" if shards else "one" }} by an index, and passes over rows that somebody holds at that moment. Looks: what waits, in the order
of the claim; what is in flight;
{%- if own %} what has ended other than Completed, the newest first;{% endif %} and the newest items of all
{{- ", in the table and in its history" if t.history and not beside }}.
A row is a figure, with its value and, if that is so, Capped: there are as many or more.
worker: how many items it holds (Value), and for how long the oldest of them (Ms); its name is Detail.
error.<state>: how many of the items looked at say Detail as the first line of their error, and the key of one of them.
{%- if own_types_only %}
These two{{ ", and type.<figure>," if by_type }} count only types that the caller may see.
{%- endif %}
window.items: how many of the newest items the figures count and arrivals are of; Capped says that there are more. wait,
claimed: of those of them{{ ", and of those before what was taken last," if own }} that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (Ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (Ms). due.within_hour: how many are due later, within an hour.{% if arrivals %} came.last_hour:
the arrivals that are no longer scheduled for later, and how long ago the first of them came (Ms).{% endif %}
{%- if by_type %}
type.<figure>: the same of one type, which is Detail: waiting, due (Ms: for how long the oldest), flying, ended{{ ", arrivals" if arrivals }} (both of the last
hour), claimed_mean_ms.
{%- endif %}
{%- if limits %}
due.startable_ms: for how long the oldest item has been due that has room within the limits, of a hundred keys that have any.
{%- endif %}
Table access order: {{ called.table }}{{ ", its history" if t.history and not beside }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ "; QueueTurn, QueueLimit" if limits }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Most int = 10000
AS
BEGIN
{% include "part/head.sql" %}
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
{% include "part/clock_variables.sql" %}
{%- if own %}
    DECLARE @_Edge datetime2(7), @_Newest datetime2(7);
{%- endif %}
    DECLARE @_Seen TABLE (
        [Look] char(1) NOT NULL, /* Waiting, Flying, Stopped, Newest of all, Before what was taken, of the History */
        [Key] nvarchar(4000) NULL, [Status] varchar(20) NOT NULL, [Detail] nvarchar(200) NULL,
        [EnqueuedAt] datetime2(7) NULL, [StartedAt] datetime2(7) NULL, [ClaimedMs] bigint NULL,
        [DueAt] datetime2(7) NULL, [Owner] nvarchar(128) NULL,
        [Until] datetime2(7) NULL{{ ",\n        [Type] nvarchar(60) NULL" if typed }}{{ ",\n        [Shard] int NULL" if shards }}
    );
    DECLARE @_Measured TABLE (
        [WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL, [EndedAt] datetime2(7) NOT NULL{{ ", [Type] nvarchar(60) NULL" if by_type }}
    );
{%- if own_types_only %}
    DECLARE @_Mine TABLE ([Type] nvarchar(60) NOT NULL);
{%- endif %}
    DECLARE @_Look TABLE ([Look] char(1) NOT NULL PRIMARY KEY, [Capped] bit NOT NULL);
{%- if limits %}
    DECLARE @_Room int, @_FreeAt datetime2(7), @_HasLooked bit = 0, @_Startable bigint{{ ", @_Keys nvarchar(max)" if sought }};
{%- endif %}

    IF @Most IS NULL OR @Most < 1 OR @Most > 1000000
        THROW 50021, N'{{ procedure }}: @Most must be from 1 to 1000000.', 1;
{% include "part/clock.sql" %}
{%- if own_types_only %}

    INSERT INTO @_Mine ([Type])
    SELECT a.[Type] FROM {{ object("QueueOwnType_V") }} AS a WHERE a.[Queue] = '{{ queue }}';
{%- endif %}
{%- if shards %}

    /* Each shard gives its part, so that the oldest of all is among them. */
{{- seen("W", shards) }}
    FROM {{ shard.all(shards) }}
    CROSS APPLY (
        SELECT TOP (@Most / {{ shards }} + 1)
{%- for c in t.shown %}
            q.{{ c }},
{%- endfor %}
            q.[Shard]
        FROM {{ table }} AS q WITH ({{ hints }}, INDEX ({{ t.due_index }}))
        WHERE
            q.[Shard] = h.[Shard]
            AND {{ item.waits(t) }}
{%- if order %}
        ORDER BY {% for c in order %}q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}
{%- endif %}
    ) AS q
    OPTION (LOOP JOIN, FORCE ORDER);
{%- else %}
{{ seen("W") }}
{{- from_table(t.due_index) }}
    WHERE {{ item.waits(t) }}{{ item.and_free_here(t) }}
    OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{% if t.parks_errors %}
{{- seen("W") }}
{{- from_lease("Waiting") }}
    WHERE s.[Status] = 'Error' AND NOT ({{ item.waits(t) }}{{ item.and_free_here(t) }})
    OPTION (LOOP JOIN, FORCE ORDER);
{% endif %}
{%- if beside %}
{{- seen("F") }}
{{- from_lease("InFlight") }}
    WHERE s.[Status] = 'Processing'
    OPTION (LOOP JOIN, FORCE ORDER);
{%- if t.foreign %}

    /* Items that somebody else took, so that no row beside the table has it in work. */
{{- seen("F") }}
{{- from_table("[IX_" ~ queue ~ ("_Due]" if in_flight_is_due else "_InFlight]")) }}
    WHERE {{ item.stands(processing) }} AND (s.[Status] IS NULL OR s.[Status] = 'Pending')
    OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{% else %}
{{- seen("F") }}
{{- from_table("[IX_" ~ queue ~ "_InFlight]") }}
    WHERE {{ item.stands(processing) }};
{% endif %}
{%- if own %}
{{- seen("S") }}
{{- from_table("[IX_" ~ queue ~ "_Ended]") }}
    WHERE q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
    ORDER BY {{ newest }};
{% endif %}
{{- seen("N") }}
{{- from_table() }}
{{- item.its(t, "\n    WHERE ") }}
    ORDER BY {{ newest }};
{% if own %}
    /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
    SET @_Edge = (SELECT MAX(s.[EnqueuedAt]) FROM @_Seen AS s WHERE s.[Look] = 'F');
    IF @_Edge IS NULL SET @_Edge = (SELECT MIN(s.[EnqueuedAt]) FROM @_Seen AS s WHERE s.[Look] = 'W');
    SET @_Newest = (SELECT MIN(s.[EnqueuedAt]) FROM @_Seen AS s WHERE s.[Look] = 'N');
{{- seen("B") }}
{{- from_table() }}
    WHERE q.{{ key[0].quoted }} <= @_Edge AND q.{{ key[0].quoted }} < @_Newest
    ORDER BY {{ newest }};
{% endif %}
{%- if t.history and not beside %}
{{- seen("H") }}
{{- from_table("", t.history) }}
    ORDER BY {{ newest }};
{% endif %}
    INSERT INTO @_Look ([Look], [Capped])
    SELECT s.[Look], CASE WHEN COUNT(*) > @Most THEN 1 ELSE 0 END
    FROM @_Seen AS s
    GROUP BY s.[Look];
{%- if shards %}

    /* One shard may have more than its part, whatever the others have. */
    UPDATE l
    SET [Capped] = 1
    FROM @_Look AS l
    WHERE
        l.[Look] = 'W'
        AND EXISTS (
            SELECT 1
            FROM @_Seen AS s
            WHERE s.[Look] = 'W'
            GROUP BY s.[Shard]
            HAVING COUNT(*) > @Most / {{ shards }}
        );
{%- endif %}

    INSERT INTO @_Measured ([WaitMs], [ClaimedMs], [EndedAt]{{ ", [Type]" if by_type }})
    SELECT
        CASE
            WHEN s.[StartedAt] > COALESCE(s.[DueAt], s.[EnqueuedAt])
                THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[DueAt], s.[EnqueuedAt]), s.[StartedAt])
            WHEN COALESCE(s.[DueAt], s.[EnqueuedAt]) IS NOT NULL THEN 0
        END,
        s.[ClaimedMs],
        DATEADD(MILLISECOND, s.[ClaimedMs] % 1000, DATEADD(SECOND, s.[ClaimedMs] / 1000, s.[StartedAt])){{ ",\n        s.[Type]" if by_type }}
    FROM @_Seen AS s
    WHERE
        s.[Look] IN ('N', 'B', 'H')
        AND {{ item.finished("s.[Status]") }}
        AND s.[StartedAt] IS NOT NULL AND s.[ClaimedMs] BETWEEN 0 AND 1000000000000;
{%- if limits %}
{% include "part/startable.sql" %}
{%- endif %}

    SELECT
        f.[Name],
        CASE WHEN l.[Capped] = 1 AND f.[Name] <> 'due.oldest_ms' AND f.[Value] > @Most THEN @Most ELSE f.[Value] END AS [Value],
        CASE WHEN l.[Capped] = 1 OR f.[Look] = '+' THEN CAST(1 AS bit) ELSE CAST(0 AS bit) END AS [Capped], f.[Ms],
        f.[Detail], f.[Key]
    FROM (
        SELECT
            CAST(CONCAT('count.', q.[Status]) AS varchar(40)) AS [Name],
            CAST(COALESCE(c.[Items], 0) AS bigint) AS [Value], g.[Look], CAST(NULL AS bigint) AS [Ms],
            CAST(NULL AS nvarchar(200)) AS [Detail], CAST(NULL AS nvarchar(4000)) AS [Key]
        FROM {{ object("QueueStatus") }} AS q
        CROSS APPLY (
            SELECT CASE
                WHEN q.[Status] IN ('Pending', 'Error') THEN 'W'
                WHEN q.[Status] = 'Processing' THEN 'F'
                {{ "WHEN q.[Status] <> 'Completed' THEN 'S' " if own }}ELSE 'N'
            END AS [Look]
        ) AS g
        LEFT JOIN (
            SELECT s.[Look], s.[Status], COUNT_BIG(*) AS [Items]
            FROM @_Seen AS s
            GROUP BY s.[Look], s.[Status]
        ) AS c ON c.[Status] = q.[Status] AND c.[Look] = g.[Look]
{%- if limits %}
        UNION ALL
        SELECT 'due.startable_ms', @_Startable, '', NULL, NULL, NULL
        WHERE @_HasLooked = 1
{%- endif %}
        UNION ALL
        SELECT v.[Name], v.[Value], v.[Look], v.[Ms], NULL, NULL
        FROM (
            SELECT
                COUNT_BIG(CASE WHEN w.[Waits] = 1 AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now) THEN 1 END) AS [Due],
                COUNT_BIG(CASE WHEN w.[Waits] = 1 AND s.[DueAt] > @_Now AND s.[DueAt] <= DATEADD(HOUR, 1, @_Now) THEN 1 END) AS [Soon],
                MIN(CASE WHEN w.[Waits] = 1 AND w.[Began] <= @_Now THEN w.[Began] END) AS [Oldest],
                COUNT_BIG(CASE WHEN w.[Flies] = 1 AND s.[Until] <= @_Now THEN 1 END) AS [Late],
                COUNT_BIG(CASE WHEN w.[Flies] = 1 AND (s.[Until] IS NULL OR s.[Until] > @_Now) THEN 1 END) AS [Held],
                COUNT_BIG(CASE WHEN s.[Look] = 'N' THEN 1 END) AS [Newest],
                COUNT_BIG(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN 1 END) AS [Came],
                MIN(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN s.[EnqueuedAt] END) AS [CameFirst],
                MAX(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN s.[EnqueuedAt] END) AS [CameLast]
{%- if arrivals %},
                COUNT_BIG(w.[Arrived]) AS [Arrived],
                COUNT_BIG(CASE WHEN w.[IsReady] = 1 THEN w.[Arrived] END) AS [Ready],
                MIN(CASE WHEN w.[IsReady] = 1 THEN w.[Arrived] END) AS [ReadyFirst]
{%- endif %}
            FROM @_Seen AS s
            CROSS APPLY (
                SELECT
                    CASE WHEN s.[Look] = 'W' AND s.[Status] IN ('Pending', 'Error') THEN 1 ELSE 0 END AS [Waits],
                    CASE WHEN s.[Look] = 'F' AND s.[Status] = 'Processing' THEN 1 ELSE 0 END AS [Flies],
{%- if arrivals %}
                    CASE
                        WHEN s.[Look] IN ('N', 'H') AND {{ item.lately("s.[EnqueuedAt]", "@_Now") }}
                            THEN s.[EnqueuedAt]
                    END AS [Arrived],
                    CASE WHEN s.[Status] <> 'Pending' OR s.[DueAt] IS NULL OR s.[DueAt] <= @_Now THEN 1 ELSE 0 END AS [IsReady],
{%- endif %}
                    COALESCE(s.[DueAt], s.[EnqueuedAt]) AS [Began]
            ) AS w
        ) AS a
        CROSS JOIN (
            SELECT
                COUNT_BIG(*) AS [Items], CAST(AVG(CAST(m.[WaitMs] AS float)) AS bigint) AS [WaitMs],
                CAST(AVG(CAST(m.[ClaimedMs] AS float)) AS bigint) AS [ClaimedMs],
                COUNT_BIG(CASE WHEN m.[EndedAt] > DATEADD(MINUTE, -1, @_Now) THEN 1 END) AS [Minute],
                MIN(CASE WHEN m.[EndedAt] > DATEADD(MINUTE, -1, @_Now) THEN m.[EndedAt] END) AS [MinuteFirst]
{%- if ends %},
                COUNT_BIG(CASE WHEN m.[EndedAt] > DATEADD(HOUR, -1, @_Now) THEN 1 END) AS [Hour],
                MIN(CASE WHEN m.[EndedAt] > DATEADD(HOUR, -1, @_Now) THEN m.[EndedAt] END) AS [HourFirst]
{%- endif %}
            FROM @_Measured AS m
        ) AS m
        CROSS APPLY (VALUES
            ('due.count', a.[Due], 'W', CAST(NULL AS bigint)), ('due.within_hour', a.[Soon], 'W', NULL),
            ('due.oldest_ms', DATEDIFF_BIG(MILLISECOND, a.[Oldest], @_Now), 'W', NULL),
            ('lease.expired', a.[Late], 'F', NULL), ('claimed.count', a.[Held], 'F', NULL),
            ('window.items', a.[Newest], 'N', NULL),
            (
                'came.waiting', a.[Came], 'W',
                DATEDIFF_BIG(MILLISECOND, a.[CameFirst], CASE WHEN {{ "EXISTS (SELECT 1 FROM @_Look AS l WHERE l.[Look] = 'W' AND l.[Capped] = 1)" if shards else "a.[Came] > @Most" }} THEN a.[CameLast] ELSE @_Now END)
            ),
{%- if arrivals %}
            ('arrivals.last_hour', a.[Arrived], 'N', NULL),
            ('came.last_hour', a.[Ready], 'N', DATEDIFF_BIG(MILLISECOND, a.[ReadyFirst], @_Now)),
{%- endif %}
            ('sample.items', m.[Items], '', NULL), ('wait.mean_ms', m.[WaitMs], '', NULL),
            ('claimed.mean_ms', m.[ClaimedMs], '', NULL),
{%- if ends %}
            (
                'ended.last_hour', m.[Hour], CASE WHEN m.[Hour] >= @Most THEN '+' ELSE '' END,
                DATEDIFF_BIG(MILLISECOND, m.[HourFirst], @_Now)
            ),
{%- endif %}
            (
                'ended.last_minute', m.[Minute], CASE WHEN m.[Minute] >= @Most THEN '+' ELSE '' END,
                DATEDIFF_BIG(MILLISECOND, m.[MinuteFirst], @_Now)
            )
        ) AS v ([Name], [Value], [Look], [Ms])
{%- if by_type %}
        UNION ALL
        SELECT
            y.[Name], COUNT_BIG(*), y.[Look],
            CASE
                WHEN y.[Name] = 'type.due' THEN DATEDIFF_BIG(MILLISECOND, MIN(COALESCE(s.[DueAt], s.[EnqueuedAt])), @_Now)
            END,
            s.[Type], NULL
        FROM @_Seen AS s
        INNER JOIN (
            VALUES ('type.waiting', 'W'), ('type.due', 'W'), ('type.flying', 'F'){% if arrivals %}, ('type.arrivals', 'N'), ('type.arrivals', 'H'){% endif %}
        ) AS y ([Name], [Look]) ON y.[Look] = s.[Look]
        WHERE
            (y.[Name] = 'type.waiting' AND s.[Status] IN ('Pending', 'Error'))
            OR (
                y.[Name] = 'type.due' AND s.[Status] IN ('Pending', 'Error') AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now)
            )
            OR (y.[Name] = 'type.flying' AND s.[Status] = 'Processing')
{%- if arrivals %}
            OR (y.[Name] = 'type.arrivals' AND {{ item.lately("s.[EnqueuedAt]", "@_Now") }})
{%- endif %}
        GROUP BY y.[Name], y.[Look], s.[Type]
        UNION ALL
{%- if ends %}
        SELECT
            'type.ended', COUNT_BIG(*), CASE WHEN (SELECT COUNT(*) FROM @_Measured) >= @Most THEN '+' ELSE '' END,
            DATEDIFF_BIG(MILLISECOND, MIN(m.[EndedAt]), @_Now), m.[Type], NULL
        FROM @_Measured AS m
        WHERE m.[EndedAt] > DATEADD(HOUR, -1, @_Now)
        GROUP BY m.[Type]
        UNION ALL
{%- endif %}
        SELECT 'type.claimed_mean_ms', CAST(AVG(CAST(m.[ClaimedMs] AS float)) AS bigint), '', NULL, m.[Type], NULL
        FROM @_Measured AS m
        GROUP BY m.[Type]
{%- endif %}
        UNION ALL
{%- set sample = "@_Measured" %}
{%- set more = ", '', NULL, NULL, NULL" %}
{% filter indent(4, true) %}{% include "part/percentiles.sql" %}{% endfilter %}
        UNION ALL
        SELECT 'worker', w.[Items], '', DATEDIFF_BIG(MILLISECOND, w.[Began], @_Now), w.[Owner], NULL
        FROM (
            SELECT TOP (100) s.[Owner], COUNT_BIG(*) AS [Items], MIN(s.[StartedAt]) AS [Began]
            FROM @_Seen AS s
            WHERE s.[Look] = 'F' AND s.[Status] = 'Processing'{{ " AND " ~ may_see("s.[Type]") if own_types_only }}
            GROUP BY s.[Owner]
            ORDER BY COUNT_BIG(*) DESC, s.[Owner]
        ) AS w
        UNION ALL
        SELECT 'refused', x.[Times], '', DATEDIFF_BIG(MILLISECOND, @_Now, x.[Until]), CONCAT(x.[Doing], N': ', x.[Reason]),
            x.[Key] COLLATE DATABASE_DEFAULT
        FROM (
            SELECT TOP (50) r.[Key], r.[Doing], r.[Reason], r.[Times], r.[Until]
            FROM {{ object("QueueRefused") }} AS r
            WHERE r.[Queue] = '{{ queue }}' AND r.[Doing] <> 'pause'{{ " AND " ~ may_see("N'*'") if own_types_only }}
            ORDER BY r.[Since]
        ) AS x
        UNION ALL
        SELECT
            'pause', DATEDIFF_BIG(MICROSECOND, '1970-01-01', z.[Since]), '', DATEDIFF_BIG(MICROSECOND, '1970-01-01', z.[Until]),
            CAST(
                (SELECT z.[Who] AS [who], z.[Login] AS [login], z.[Reason] AS [reason] FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) AS nvarchar(4000)
            ),
            z.[Type]
        FROM {{ object("QueuePaused_V") }} AS z
        WHERE z.[Queue] = '{{ queue }}'
        UNION ALL
        SELECT CONCAT('error.', e.[Status]), e.[Items], '', NULL, e.[Detail], e.[Key]
        FROM (
            SELECT TOP (50) p.[Status], p.[Detail], COUNT_BIG(*) AS [Items], MAX(p.[Key]) AS [Key]
            FROM (
                SELECT s.[Status], s.[Key], LEFT(s.[Detail], CHARINDEX(NCHAR(10), CONCAT(s.[Detail], NCHAR(10))) - 1) AS [Detail]
                FROM @_Seen AS s
                WHERE s.[Detail] <> N''
{%- if own_types_only %}
                    AND {{ may_see("s.[Type]") }}
{%- endif %}
                    AND ((s.[Look] = 'W' AND s.[Status] = 'Error') OR (s.[Look] = '{{ "S" if own else "N" }}' AND s.[Status] = 'Failed'))
            ) AS p
            GROUP BY p.[Status], p.[Detail]
            ORDER BY COUNT_BIG(*) DESC, p.[Detail]
        ) AS e
    ) AS f
    LEFT JOIN @_Look AS l ON l.[Look] = f.[Look]
{%- if own_types_only and by_type %}
    WHERE f.[Name] NOT LIKE 'type.%' OR {{ may_see("f.[Detail]") }}
{%- endif -%}
    ;
END;
{% endfilter %}
