{#- Locks the items and judges each: by what it is, what is asked for, and what may follow. -#}
{%- set meets_same = redrive and dedup and dedup.unfinished_only %}
{%- set is = "q.[Status]" if own else "x.[Is]" %}
{#- An item that waits stays as it is where no status is asked for: an edit. -#}
{%- set follows = "CASE WHEN i.[Status] IS NULL AND " ~ is ~ " IN ('Pending', 'Error', 'Paused') THEN " ~ is ~ " ELSE t.[ToStatus] END" %}
{%- set legal %}{% if redrive %}CASE WHEN {{ is }} NOT IN ('Pending', 'Processing', 'Completed') THEN 'Pending' END
{%- elif steps %}CASE
                WHEN i.[Step] IS NULL OR i.[Step] IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %})
                    THEN {{ follows }}
            END
{%- else %}{{ follows }}{% endif %}{% endset %}
        /* Lock the items, in the order of their keys, and judge each as it is now. */
{%- if seek %}
        /* An item that moves to another place of the index while it is looked for can be missed, once. */
        WHILE @_Looks = 0 OR (@_Looks = 1 AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
        BEGIN
            SET @_Looks = @_Looks + 1;
            DELETE FROM @_Work WHERE [Answer] = 'NOT_FOUND';
{%- endif %}
{%- filter indent(4 if seek else 0) %}
        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum]{{ ", [Row]" if presence and t.witness }}{{ ", [Owner], [StartedAt], [Step]" if attempt_history and not redrive }})
        SELECT
            i.[Ordinal], j.[Answer],
            {{ is }},
{%- if t.parks_errors and not redrive %}
            /* The table has no due time: what waits for its time stands as Error until then. */
            CASE WHEN j.[Answer] = 'OK' AND j.[Status] = 'Pending' AND i.[DueAt] > @_Now THEN 'Error' ELSE j.[Status] END,
{%- else %}
            j.[Status],
{%- endif %}
            j.[Token],
            {{ "CASE WHEN j.[Answer] = 'OK' THEN 0 ELSE j.[AttemptNum] END" if redrive else "j.[AttemptNum]" }}
{%- if presence and t.witness %},
            DATALENGTH(q.{{ t.witness }})
{%- endif %}
{%- if attempt_history and not redrive %},
            {{ item.owner(t) }},
            {{ item.started(t) }},
            {{ item.step(t) }}
{%- endif %}
        FROM (
            SELECT TOP (@_Count)
                o.*,
                ROW_NUMBER() OVER (PARTITION BY {{ item.list(t, "o") }} ORDER BY o.[Ordinal]) AS [Place]
            FROM @_Item AS o
            ORDER BY {{ item.list(t, "o") }}, o.[Ordinal]
        ) AS i
        LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK)
            ON {{ item.found(t, "i") }}
{%- if own_types_only and not redrive %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if beside %}
        /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
        LEFT JOIN {{ t.lease }} AS s WITH (UPDLOCK, ROWLOCK)
            ON {{ item.kept_of(t) }}
{%- endif %}
{%- if not own %}
        CROSS APPLY (
            SELECT CASE
                WHEN q.{{ key[0].quoted }} IS NOT NULL
                    THEN {{ item.status(t) | indent(8) }}
            END AS [Is]
        ) AS x
{%- endif %}
{%- if not redrive %}
        LEFT JOIN {{ object("QueueTransition") }} AS t
            ON t.[FromStatus] = {{ is }} AND t.[ToStatus] = i.[Status]
{%- endif %}
{%- if meets_same %}
{% include "part/redrive_same.sql" %}
{%- endif %}
        CROSS APPLY {{ object("QueueJudge_fn") }}(
            {{ t.at if t.role.token else "@_Now" }},
            {{ "NULL" if redrive else "@Worker" }},
            {{ "2147483647" if redrive else "@_MaxAttempts" }},
            {{ is }},
            {{ item.attempts(t) }},
            {{ item.token(t) }},
            {{ "NULL" if redrive else item.owner(t) }},
            i.[Token],
            {{ "0" if redrive else "i.[Attempt]" }},
            i.[Place],
            {{ legal | trim }},
            {{ "0" if redrive else "CASE WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL OR i.[Set] IS NOT NULL THEN 1 ELSE 0 END" }},
            {{ "0" if redrive else "i.[Release]" }},
            {{ "m.[Same]" if meets_same else "0" }}
        ) AS j
{%- if seek %}
        WHERE NOT EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Ordinal] = i.[Ordinal])
{%- endif %}
        /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- endfilter %}
{%- if seek %}
        END;
{%- endif %}
{%- if meets_same %}

        /* The same work, let in twice by this call: the first counts. */
        UPDATE k
        SET [Answer] = 'DUPLICATE', [Status] = k.[Was], [Token] = x.[Token], [AttemptNum] = x.[AttemptNum]
        FROM (
            SELECT
                w.[Ordinal],
                {{ item.token(t) }} AS [Token],
                {{ item.attempts(t) }} AS [AttemptNum],
                ROW_NUMBER() OVER (PARTITION BY {% for column in t.work %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %} ORDER BY w.[Ordinal]) AS [Turn]
            FROM @_Work AS w
            INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
            INNER JOIN {{ table }} AS q
                ON {{ item.found(t, "i") }}
{{- item.beside_of(t, "i") | indent(12) }}
            WHERE
                w.[Answer] = 'OK'
                AND {{ item.finished("w.[Was]") }}
{%- for column in t.work %}
                AND q.{{ column.quoted }} IS NOT NULL
{%- endfor %}
        ) AS x
        INNER JOIN @_Work AS k ON k.[Ordinal] = x.[Ordinal]
        WHERE x.[Turn] > 1
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
