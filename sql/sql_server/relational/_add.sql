        /*
        The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on a
        grid of 10 ms plus a running number of microseconds, which 10,000 items in succession do not share.
        */
        INSERT INTO @New ([Ordinal], [EnqueuedAt], [ScheduledFor], [Columns], [Type], [Step])
        SELECT
            n.[Ordinal],
            DATEADD(
                MICROSECOND,
                (NEXT VALUE FOR {{ object(queue ~ "_Seq") }} OVER (ORDER BY n.[Ordinal])) % 10000,
                CAST(CAST(@Now AS datetime2(2)) AS datetime2(7))
            ),
            COALESCE(
                n.[ScheduledFor],
                DATEADD(MILLISECOND, n.[DelayMs] % 1000, DATEADD(SECOND, n.[DelayMs] / 1000, @Now)),
                @Now
            ),
            n.[Columns],
            COALESCE(n.[Type], {{ text(types[0]) }}),
            n.[Step]
        FROM (
            SELECT
                CAST(j.[key] AS int) AS [Ordinal],
                r.[ScheduledFor],
                r.[DelayMs],
                r.[Columns],
                r.[Type],
                r.[Step]
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [Type] nvarchar(60) '$.type',
                [Step] nvarchar(60) '$.step',
                [ScheduledFor] datetime2(7) '$.due',
                [DelayMs] bigint '$.delay_ms',
                [Columns] nvarchar(max) '$.columns' AS JSON
            ) AS r
        ) AS n;

        IF @@ROWCOUNT > 1000
            THROW 50021, N'{{ procedure }}: at most 1000 items a call (more locks than that may escalate to the table).', 1;

        INSERT INTO {{ object(queue) }} (
            [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt]
            {%- for column in columns %}, {{ column.quoted }}{% endfor %}
        )
        SELECT
            n.[EnqueuedAt], n.[Type], 'Pending', n.[Step], 0, n.[ScheduledFor], @Now
            {%- for column in columns %}, c.{{ column.quoted }}{% endfor %}
        FROM @New AS n
{%- if columns %}
        OUTER APPLY OPENJSON(COALESCE(n.[Columns], N'{}')) WITH (
{%- for column in columns %}
            {{ column.quoted }} {{ column.json_type }} {{ text(column.path) }}{{ " AS JSON" if column.is_json }}{{ "," if not loop.last }}
{%- endfor %}
        ) AS c
{%- endif %};
