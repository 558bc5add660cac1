        /*
        Finds the work of an item that is there already.
        {{ "In the caller's transaction the locks" if own else "The locks" }} are on the index, in its order, and on the gaps where new rows belong: a call that
        enqueues the same work at the same time waits, and then finds it.
{%- if own %} In a transaction of its own no lock waits for it: of two calls that enqueue
        the same work at once, the index refuses the second, which looks again.
{%- endif %}
        */
{%- if own %}
        IF @Within = 1
{% filter indent(4, true) %}        INSERT INTO @_Added ([Ordinal], [Answer], [Key])
        SELECT
            w.[Ordinal], 'DUPLICATE',
            MIN({{ item.as_text(t, "q", "quoted") }})
        FROM (
            SELECT TOP (@_Count) m.*
            FROM @_New AS m
            ORDER BY {% for c in t.work %}m.{{ c.var }}, {% endfor %}m.[Ordinal]
        ) AS w
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, {{ "INDEX ([IX_" ~ queue ~ "_Work])" if own else "FORCESEEK" }})
            ON
{%- for c in t.work %}
                {{ "AND " if not loop.first }}q.{{ c.quoted }} = w.{{ c.var }}
{%- if own and c.nullable %}
                AND q.{{ c.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
{%- if own and dedup.unfinished_only %}
                AND q.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- elif dedup.unfinished_only %}

{#- As it is now: with row versions it would be read as it was before the row of the table was waited for. #}
{{- item.beside(t, " WITH (ROWLOCK, READCOMMITTEDLOCK)") | indent(8) }}
        WHERE
            {{ item.status(t) }}
            IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
        GROUP BY w.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));{% endfilter %}
        ELSE
{% filter indent(4, true) %}        INSERT INTO @_Added ([Ordinal], [Answer], [Key])
        SELECT
            w.[Ordinal], 'DUPLICATE',
            MIN({{ item.as_text(t, "q", "quoted") }})
        FROM (
            SELECT TOP (@_Count) m.*
            FROM @_New AS m
            ORDER BY {% for c in t.work %}m.{{ c.var }}, {% endfor %}m.[Ordinal]
        ) AS w
        INNER JOIN {{ table }} AS q WITH (ROWLOCK, READCOMMITTEDLOCK, {{ "INDEX ([IX_" ~ queue ~ "_Work])" if own else "FORCESEEK" }})
            ON
{%- for c in t.work %}
                {{ "AND " if not loop.first }}q.{{ c.quoted }} = w.{{ c.var }}
{%- if own and c.nullable %}
                AND q.{{ c.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
{%- if own and dedup.unfinished_only %}
                AND q.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- elif dedup.unfinished_only %}

{#- As it is now: with row versions it would be read as it was before the row of the table was waited for. #}
{{- item.beside(t, " WITH (ROWLOCK, READCOMMITTEDLOCK)") | indent(8) }}
        WHERE
            {{ item.status(t) }}
            IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
        GROUP BY w.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));{% endfilter %}
{%- else %}
        INSERT INTO @_Added ([Ordinal], [Answer], [Key])
        SELECT
            w.[Ordinal], 'DUPLICATE',
            MIN({{ item.as_text(t, "q", "quoted") }})
        FROM (
            SELECT TOP (@_Count) m.*
            FROM @_New AS m
            ORDER BY {% for c in t.work %}m.{{ c.var }}, {% endfor %}m.[Ordinal]
        ) AS w
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, {{ "INDEX ([IX_" ~ queue ~ "_Work])" if own else "FORCESEEK" }})
            ON
{%- for c in t.work %}
                {{ "AND " if not loop.first }}q.{{ c.quoted }} = w.{{ c.var }}
{%- if own and c.nullable %}
                AND q.{{ c.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
{{- item.its(t, "\n                AND ") }}
{%- if own and dedup.unfinished_only %}
                AND q.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- elif dedup.unfinished_only %}

{#- As it is now: with row versions it would be read as it was before the row of the table was waited for. #}
{{- item.beside(t, " WITH (ROWLOCK, READCOMMITTEDLOCK)") | indent(8) }}
        WHERE
            {{ item.status(t) }}
            IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
        GROUP BY w.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- endif %}

        /* The same work twice in one call: the first counts. */
        UPDATE n
        SET
            [IsNew] = CASE WHEN a.[Ordinal] IS NOT NULL OR f.[First] < n.[Ordinal] THEN 0 ELSE 1 END,
            [First] = f.[First]
        FROM @_New AS n
        INNER JOIN (
            SELECT
                m.[Ordinal],
                CASE
                    WHEN {% for c in t.work %}m.{{ c.var }} IS NOT NULL{{ " AND " if not loop.last }}{% endfor %}
                        THEN MIN(m.[Ordinal]) OVER (PARTITION BY {% for c in t.work %}m.{{ c.var }}{{ ", " if not loop.last }}{% endfor %})
                    ELSE m.[Ordinal]
                END AS [First]
            FROM @_New AS m
        ) AS f ON f.[Ordinal] = n.[Ordinal]
        LEFT JOIN @_Added AS a ON a.[Ordinal] = n.[Ordinal];
