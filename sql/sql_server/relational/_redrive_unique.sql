
        /* Work that is in the queue again, unfinished, is not there twice; nor does one call bring it back twice. */
        UPDATE w
        SET [Answer] = 'DUPLICATE'
        FROM @Work AS w
        INNER JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        INNER JOIN {{ object(queue) }} AS u
            ON
                u.[EnqueuedAt] <> q.[EnqueuedAt]
                AND u.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- for column in work %}
                AND u.{{ column.quoted }} = q.{{ column.quoted }}
{%- if column.nullable %}
                AND u.{{ column.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE w
        SET [Answer] = 'DUPLICATE'
        FROM (
            SELECT
                o.[Ordinal],
                ROW_NUMBER() OVER (
                    PARTITION BY {% for column in work %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %} ORDER BY o.[Ordinal]
                ) AS [Place]
            FROM @Work AS o
            INNER JOIN {{ object(queue) }} AS q
                ON q.[EnqueuedAt] = o.[EnqueuedAt]
            WHERE
                o.[Answer] = 'OK'
{%- for column in work %}
                AND q.{{ column.quoted }} IS NOT NULL
{%- endfor %}
        ) AS r
        INNER JOIN @Work AS w
            ON w.[Ordinal] = r.[Ordinal]
        WHERE r.[Place] > 1
        OPTION (LOOP JOIN, FORCE ORDER);
