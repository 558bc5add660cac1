        INSERT INTO @Due ([EnqueuedAt], [ScheduledFor], [AttemptNum], [UpdatedAt], [Status], [Alone]{{ ", [Priority]" if priority }})
        SELECT TOP (@Max{{ " - @Locked" if own_types_only }})
            q.[EnqueuedAt],
            q.[ScheduledFor],
            q.[AttemptNum],
            CASE
                WHEN @Now > q.[UpdatedAt] THEN @Now
                ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
            END,
            CASE WHEN q.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Processing' END,
            /* Such a row keeps its lease that is over. */
            CASE WHEN q.[AttemptNum] < @MaxAttempts AND q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END{% if priority %},
            q.{{ priority.quoted }}{% endif %}
        FROM {{ object(queue) }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Type" if own_types_only }}Due]))
        WHERE
{%- if own_types_only %}
            q.[Type] = @OwnType
            AND q.[Status] IN ('Pending', 'Error')
{%- else %}
            q.[Status] IN ('Pending', 'Error')
{%- endif %}
            AND q.[ScheduledFor] <= @Now
{%- if group %}
{% include "relational/_group_free.sql" %}
{%- endif %}
{%- if order %}
        ORDER BY
{%- for column in order %}
            q.{{ column.quoted }}{{ " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
{%- if group %}
        OPTION (LOOP JOIN, FORCE ORDER)
{%- endif -%}
        ;
