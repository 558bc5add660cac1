{#- The milliseconds until the next items of the kinds at hand are due, a row for each place where they wait. -#}
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(r.[Until])) + 1
            FROM {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
            WHERE r.[Queue] = '{{ queue }}' AND r.[Until] > @_Now AND r.[Until] < '9999-01-01'
{%- for search in kind_searches if role.due %}
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, {{ at }}, MIN(u.[DueAt])) + 1
            FROM @_Wanted AS w
            CROSS APPLY (
{%- for without_step in [false, true] if search.step or not without_step %}
{%- if without_step %}
                UNION ALL
{%- endif %}
                SELECT n.[DueAt]
                FROM (
                    SELECT TOP ({{ 1 if t.due_leads or own else 1000 }}) q.{{ role.due }} AS [DueAt]
                    FROM {{ table }} AS q
                        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ search.index }}))
                    WHERE
                        {{ kind.is(search, role, "w.[Type]", "w.[Step]", without_step) }}
{%- if without_step %}
                        AND w.[Step] IS NULL
{%- endif %}
                        AND {{ item.waits(t) }}
{{- item.and_free(t) | indent(12) }}
                        AND q.{{ role.due }} > {{ at }}{{ " AND q." ~ role.due ~ " < " ~ item.never() if after }}
                    ORDER BY {{ "q." ~ role.due if t.due_leads or own else kind.ordered(due_columns) }}
                ) AS n
{%- endfor %}
            ) AS u
{%- if kind_searches | length > 1 %}
            WHERE @Steps IS {{ "NOT " if search.step }}NULL
{%- endif %}
{%- endfor %}
{%- if shards %}
{%- import "macro/shard.sql" as shard %}
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, {{ at }}, MIN(u.[DueAt])) + 1
            FROM {{ shard.all(shards) }}
            CROSS APPLY (
                SELECT TOP (1) q.{{ role.due }} AS [DueAt]
                FROM {{ table }} AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }}))
                WHERE
                    q.[Shard] = h.[Shard]
                    AND {{ item.waits(t) }}
                    AND q.{{ role.due }} > {{ at }}{{ " AND q." ~ role.due ~ " < " ~ item.never() if after }}
                ORDER BY q.{{ role.due }}
            ) AS u
{%- elif searches_all and role.due %}
{%- for value in [""] + (t.staged.others if t.staged else []) %}
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, {{ at }}, MIN(u.[DueAt])) + 1
            FROM (
                /* {{ "The first of them." if t.due_leads or own else "The first thousand." }} */
                SELECT TOP ({{ 1 if t.due_leads or own else 1000 }}) q.{{ role.due }} AS [DueAt]
                FROM {{ table }} AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }}))
                WHERE
                    {{ item.waits(t, "q", value) }}
{{- item.and_free(t) | indent(8) }}
                    AND q.{{ role.due }} > {{ at }}{{ " AND q." ~ role.due ~ " < " ~ item.never() if after }}
{%- for search in kind_searches %}
                    AND {{ "@Steps" if search.step else "@Types" }} IS NULL
{%- endfor %}
                ORDER BY {% if t.due_leads or own %}q.{{ role.due }}{% else %}{% for c in order %}q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}{% endif %}
            ) AS u
{%- endfor %}
{%- endif %}
{%- if t.parks_errors %}
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, u.[DueAt]) + 1
            FROM (
                SELECT TOP (1) s.[DueAt]
                FROM {{ t.lease }} AS s
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_Waiting]))
                WHERE s.[Status] = 'Error' AND s.[DueAt] > @_Now
                ORDER BY s.[DueAt]
            ) AS u
{%- endif %}