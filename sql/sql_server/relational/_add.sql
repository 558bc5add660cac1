    INSERT INTO @New ([Ordinal], [Number], [ScheduledFor], [Type], [Step]{% for column in work %}, [Work{{ loop.index }}]{% endfor %})
    SELECT
        CAST(j.[key] AS int),
        NEXT VALUE FOR {{ object(queue ~ "_Seq") }},
        COALESCE(
            r.[ScheduledFor],
            DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now)),
            @Now
        ),
        COALESCE(r.[Type], {{ text(types[0]) }}),
        r.[Step]{% for column in work %},
        r.[Work{{ loop.index }}]{% endfor %}
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Type] nvarchar(max) '$.type',
        [Step] nvarchar(max) '$.step',
        [ScheduledFor] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms'{% for column in work %},
        [Work{{ loop.index }}] {{ column.json_type }} '{{ column.path }}'{% endfor %}
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 items a call.', 1;

    /*
    The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
    a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
    items in succession have different keys, and the keys of one call ascend with its numbers.
    */
    SET @First = (SELECT MIN(n.[Number]) FROM @New AS n);
    UPDATE @New
    SET [EnqueuedAt] = DATEADD(
        MICROSECOND, [Number] - @First + @First % 10000, CAST(CAST(@Now AS datetime2(2)) AS datetime2(7))
    );
{% if dedup %}
{% include "relational/_seen.sql" %}
{% endif %}
    INSERT INTO {{ object(queue) }} (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt]{% for column in columns %},
        {{ column.quoted }}{% endfor %}
    )
    SELECT
        n.[EnqueuedAt], n.[Type], 'Pending', n.[Step], 0, n.[ScheduledFor], @Now{% for column in columns %},
        c.{{ column.quoted }}{% endfor %}
{%- if columns %}
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{%- for column in columns %}
        {{ column.quoted }} {{ column.json_type }} '{{ column.path }}'{{ " AS JSON" if column.is_json }}{{ "," if not loop.last }}
{%- endfor %}
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
{%- else %}
    FROM @New AS n
{%- endif %}
{%- if dedup %}
    WHERE NOT EXISTS (SELECT 1 FROM @Seen AS s WHERE s.[Ordinal] = n.[Ordinal])
{%- endif %}
    OPTION (LOOP JOIN, FORCE ORDER);
{%- for subtype in subtypes %}
{% include "relational/_add_subtype.sql" %}
{%- endfor -%}

