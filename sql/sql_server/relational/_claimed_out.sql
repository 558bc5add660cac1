    INSERT INTO @Out ([Seq], [Answer], [EnqueuedAt], [Token], [AttemptNum], [Status])
    SELECT
        1000000 + ROW_NUMBER() OVER (ORDER BY {% for column in order -%}
        d.{{ "[Priority]" if priority and loop.first else column.quoted }}{{ " DESC" if column.descending }}
        {{- ", " if not loop.last }}
        {%- else -%}
        d.[EnqueuedAt]
        {%- endfor %}),
        CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, d.[EnqueuedAt], d.[UpdatedAt], d.[AttemptNum] + 1, d.[Status]
    FROM @Due AS d
    WHERE d.[Status] = 'Processing';

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due
    already is in the hands of others.
    */
    IF @@ROWCOUNT = 0
        INSERT INTO @Out ([Seq], [Answer], [DueMs])
        SELECT
            1000000,
            'EMPTY',
{%- if own_types_only %}
            (
                SELECT DATEDIFF_BIG(MILLISECOND, @Now, MIN(n.[ScheduledFor])) + 1
                FROM {{ object(queue ~ "Type") }} AS t
                CROSS APPLY (
                    SELECT TOP (1) q.[ScheduledFor]
                    FROM {{ object(queue) }} AS q
                        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_TypeDue]))
                    WHERE
                        q.[Type] = t.[Type]
                        AND q.[Status] IN ('Pending', 'Error')
                        AND q.[ScheduledFor] > @Now
                    ORDER BY q.[ScheduledFor]
                ) AS n
{%- set own = "t" %}
                WHERE {% filter indent(12) %}{% include "relational/_own_type.sql" %}{% endfilter %}
            );
{%- else %}
            (
                SELECT TOP (1) DATEDIFF_BIG(MILLISECOND, @Now, q.[ScheduledFor]) + 1
                FROM {{ object(queue) }} AS q
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Due]))
                WHERE
                    q.[Status] IN ('Pending', 'Error')
                    AND q.[ScheduledFor] > @Now
                ORDER BY
                    q.[ScheduledFor],
                    q.[EnqueuedAt]
            );
{%- endif %}
