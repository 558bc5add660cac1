
{%- if completion == "history" %}

        /* What is completed moves to the history. */
        INSERT INTO {{ object(history_name) }} (
            [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [Duration],
            [ScheduledFor], [UpdatedAt], [LeaseOwner], [LeaseUntil]{% for column in columns %},
            {{ column.quoted }}{% endfor %}
        )
        SELECT
            q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt],
            q.[Duration], q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil]{% for column in columns %},
            q.{{ column.quoted }}{% endfor %}
        FROM @Work AS w
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        WHERE w.[Answer] = 'OK' AND w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- else %}

        /* What is completed leaves the table. */
{%- endif %}
        DELETE q
        FROM @Work AS w
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        WHERE w.[Answer] = 'OK' AND w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if completion == "delete" %}
        SET @Changed = @Changed + @@ROWCOUNT;
{%- endif %}
