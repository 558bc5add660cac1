    /* Work that is in the queue again, unfinished, is not there twice; nor does one call bring it back twice. */
    once AS MATERIALIZED (
        SELECT
            j.ordinal,
            j.key,
            j.status,
            j.updated_at,
            j.attempt_num,
            CASE
                WHEN j.answer <> 'OK'{% for column in work if column.nullable %} OR j.{{ column.quoted }} IS NULL{% endfor %} THEN j.answer
                WHEN
                    ROW_NUMBER() OVER (
                        PARTITION BY j.answer{% for column in work %}, j.{{ column.quoted }}{% endfor %} ORDER BY j.ordinal
                    ) > 1
                    THEN 'DUPLICATE'
                WHEN
                    EXISTS (
                        SELECT 1
                        FROM {{ object(queue) }} AS u
                        WHERE
                            u.enqueued_at <> j.key
                            AND u.status IN ('Pending', 'Processing', 'Error', 'Paused')
{%- for column in work %}
                            AND u.{{ column.quoted }} BETWEEN j.{{ column.quoted }} AND j.{{ column.quoted }}
{%- endfor %}
                        OFFSET 0
                    )
                    THEN 'DUPLICATE'
                ELSE 'OK'
            END AS answer
        FROM judged AS j
    ),
