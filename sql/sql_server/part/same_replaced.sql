        /* The same work several times in one call: the last counts, at the place of the first. */
        UPDATE n
        SET
            [IsNew] = CASE WHEN f.[First] < n.[Ordinal] THEN 0 ELSE 1 END, [First] = f.[First], [Last] = f.[Last]{{ ", [DueAt] = f.[DueAt]" if dedup.later }}
        FROM @_New AS n
        INNER JOIN (
            SELECT
                m.[Ordinal],
{%- set has_work %}{% for c in t.work %}m.{{ c.var }} IS NOT NULL{{ " AND " if not loop.last }}{% endfor %}{% endset %}
{%- set of_work %}PARTITION BY {% for c in t.work %}m.{{ c.var }}{{ ", " if not loop.last }}{% endfor %}{% endset %}
                CASE WHEN {{ has_work }} THEN MIN(m.[Ordinal]) OVER ({{ of_work }}) ELSE m.[Ordinal] END AS [First],
                CASE WHEN {{ has_work }} THEN MAX(m.[Ordinal]) OVER ({{ of_work }}) ELSE m.[Ordinal] END AS [Last]
{%- if dedup.later %},
                CASE
                    /* An item without a due time moves nothing; an aggregate would warn of its NULL. */
                    WHEN {{ has_work }}
                        THEN NULLIF(MAX(COALESCE(m.[DueAt], '0001-01-01')) OVER ({{ of_work }}), '0001-01-01')
                    ELSE m.[DueAt]
                END AS [DueAt]
{%- endif %}
            FROM @_New AS m
        ) AS f ON f.[Ordinal] = n.[Ordinal];

        UPDATE n
        SET
            [Type] = l.[Type], [Step] = l.[Step]{{ ", [DueAt] = l.[DueAt]" if not dedup.later }}
{%- for c in t.given %},
            {{ c.var }} = l.{{ c.var }}
{%- endfor %}
{%- for u in t.subtypes %},
            [{{ u.alias }}] = l.[{{ u.alias }}]
{%- for c in u.columns %},
            {{ c.var }} = l.{{ c.var }}
{%- endfor %}{% endfor %}
        FROM @_New AS n
        INNER JOIN @_New AS l ON l.[Ordinal] = n.[Last]
        WHERE n.[IsNew] = 1 AND n.[Last] > n.[Ordinal];

        /*
        Looks for the same work without keeping locks, and locks the rows by their key, in order: as a settlement does, and before
        anything of the index of works is locked. In the caller's transaction the second round looks once more, with locks
        on the index and on the gaps where new rows belong: a call that enqueues the same work at the same time waits, and then
        finds it. In a transaction of its own the index refuses the second of two such calls, which looks again.
        */
        SET @_Round = 0;
        WHILE @_Round = 0 OR (@_Round = 1 AND @Within = 1)
        BEGIN
            DELETE FROM @_Found;
{%- for round in [0, 1] %}
            IF @_Round = {{ round }}
                INSERT INTO @_Found ({{ item.names(t) }}, [Ordinal])
                SELECT {{ item.of_item(t) }}, w.[Ordinal]
                FROM (
                    SELECT TOP (@_Count) m.*
                    FROM @_New AS m
                    WHERE m.[IsNew] = 1
                    ORDER BY {% for c in t.work %}m.{{ c.var }}, {% endfor %}m.[Ordinal]
                ) AS w
                INNER JOIN {{ table }} AS q WITH ({{ "ROWLOCK, READCOMMITTEDLOCK" if round == 0 else "UPDLOCK, HOLDLOCK, ROWLOCK" }}, INDEX ([IX_{{ queue }}_Work]))
                    ON
{%- for c in t.work %}
                        {{ "AND " if not loop.first }}q.{{ c.quoted }} = w.{{ c.var }}
{%- if c.nullable %}
                        AND q.{{ c.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
{%- if dedup.unfinished_only %}
                        AND q.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
                OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- endfor %}

            INSERT INTO @_Same ({{ item.names(t) }}, [Ordinal], [Round], [Status], [Token], [DueAt])
            SELECT
                {{ item.list(t, "o") }}, o.[Ordinal], @_Round, q.[Status],
                {{ item.later(t, "q." ~ role.token) }},
                q.{{ role.due }}
            FROM (
                SELECT TOP (@_Count) {{ item.list(t, "f") }}, MIN(f.[Ordinal]) AS [Ordinal]
                FROM @_Found AS f
                WHERE NOT EXISTS (SELECT 1 FROM @_Same AS s WHERE {{ item.same(t, "s", "f") }})
                GROUP BY {{ item.list(t, "f") }}
                ORDER BY {{ item.list(t, "f") }}
            ) AS o
            INNER JOIN @_New AS n ON n.[Ordinal] = o.[Ordinal]
            INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK)
                ON {{ item.found(t, "o") }}{% for c in t.work %} AND q.{{ c.quoted }} = n.{{ c.var }}{% endfor %}
            /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

            /* An item that waits gets all that the new one has; one in work, or that has ended, stays as it is. */
            UPDATE q
            SET
                {{ role.kind }} = COALESCE(n.[Type], {{ text(types[0]) }}), {{ role.step }} = n.[Step],
                {{ role.token }} = s.[Token],
                {{ role.due }} = CASE
{%- if dedup.later %}
                    WHEN n.[DueAt] > s.[DueAt] THEN n.[DueAt]
                    ELSE s.[DueAt]
{%- else %}
                    WHEN n.[DueAt] IS NOT NULL THEN n.[DueAt]
                    /* An item that is due keeps its place. */
                    WHEN s.[DueAt] <= @_Now THEN s.[DueAt]
                    ELSE @_Now
{%- endif %}
                END
{%- for c in t.given if c.quoted not in dedup.columns %},
                {{ c.quoted }} = n.{{ c.var }}
{%- endfor %}
            FROM @_Same AS s
            INNER JOIN @_New AS n ON n.[Ordinal] = s.[Ordinal]
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "s") }}
            WHERE s.[Round] = @_Round AND s.[Status] IN ('Pending', 'Error', 'Paused')
            OPTION (LOOP JOIN, FORCE ORDER);

            SET @_Round = @_Round + 1;
        END;

        INSERT INTO @_Added ([Ordinal], [Answer], [Key], [Token])
        SELECT
            s.[Ordinal], 'DUPLICATE',
            {{ item.as_text(t, "s") }},
            CASE WHEN s.[Status] IN ('Pending', 'Error', 'Paused') THEN s.[Token] END
        FROM @_Same AS s{{ "\n        WHERE s.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')" if dedup.unfinished_only }};

        UPDATE n
        SET [IsNew] = 0
        FROM @_New AS n
        INNER JOIN @_Added AS a ON a.[Ordinal] = n.[Ordinal];
