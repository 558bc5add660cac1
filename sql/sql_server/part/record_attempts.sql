{%- if attempt_history %}

        /* Ended attempts are remembered; a released one was not begun. */
        INSERT INTO {{ t.attempt }} (
            {{ item.attempt_names(t) }}, [AttemptNum], [Worker], [StartedAt], [EndedAt], [Outcome], [Step], [Response], [Error]
        )
        SELECT
            {{ item.list(t, "i") }},
            k.[AttemptNum], k.[Owner], k.[StartedAt], @_Now, k.[Status], COALESCE(i.[Step], k.[Step]), i.[Response],
            CASE
                WHEN i.[Error] IS NOT NULL THEN i.[Error]
                WHEN {{ settles.spent }}
                    THEN {{ settles.spent_error }}
            END
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        WHERE
            k.[Answer] = 'OK' AND k.[Was] = 'Processing' AND k.[Status] <> 'Processing'
            AND NOT (i.[Status] = 'Pending' AND COALESCE(i.[Release], 0) = 1)
{%- if completion == "delete" %}
            AND k.[Status] <> 'Completed'
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if completion == "delete" %}

        /* Nothing stays of items that have left the table. */
        DELETE a
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal] AND k.[Answer] = 'OK' AND k.[Status] = 'Completed'
        INNER JOIN {{ t.attempt }} AS a WITH (ROWLOCK)
            ON {{ item.attempt_of(t, "i") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- endif %}
