            /*
            Strictly in order within a group: while an earlier item of it is unfinished, or any is in flight (of two
            producers at once the later key may be committed first), the others wait. An item without a group waits
            for nobody.
            */
{%- if own %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS e WITH (ROWLOCK, FORCESEEK, INDEX ([IX_{{ queue }}_Group]))
                WHERE
                    e.{{ group }} = q.{{ group }}
                    AND e.[EnqueuedAt] < q.[EnqueuedAt] AND e.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
            )
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS h WITH (ROWLOCK, FORCESEEK, INDEX ([IX_{{ queue }}_Held]))
                WHERE
                    h.{{ group }} = q.{{ group }}
                    AND h.[Status] = 'Processing'
            )
{%- else %}
{%- for e in encodings %}
{%- set open = e.states | select("in", ["Pending", "Processing", "Error", "Paused"]) | list %}
{%- if open %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS e WITH (ROWLOCK)
{%- if open | length < e.states | length %}
                LEFT JOIN {{ t.lease }} AS z WITH (ROWLOCK)
                    ON {{ item.kept_of(t, "z", "e") }}
{%- endif %}
                WHERE
                    e.{{ group }} = q.{{ group }}
                    AND {{ item.stands(t.rows + e.conditions, "e") }}
                    AND (
{%- for c in group_order %}
                        {{ "OR (" if not loop.first }}{% for before in group_order[:loop.index0] %}e.{{ before }} = q.{{ before }} AND {% endfor %}e.{{ c }} < q.{{ c }}{{ ")" if not loop.first }}
{%- endfor %}
                    )
{%- if open | length < e.states | length %}
                    AND {% if e.default in open %}(z.[Status] IS NULL OR z.[Status] NOT IN ({{ item.states(e.states | reject("in", open) | list) }})){% else %}z.[Status] IN ({{ item.states(open) }}){% endif %}
{%- endif %}
            )
{%- endif %}
{%- endfor %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS e WITH (ROWLOCK)
{%- if beside %}
                INNER JOIN {{ t.lease }} AS z WITH (ROWLOCK)
                    ON {{ item.kept_of(t, "z", "e") }}
{%- endif %}
                WHERE
                    e.{{ group }} = q.{{ group }}
                    AND {{ item.stands(processing, "e") }}
{%- if beside %}
                    AND z.[Status] = 'Processing'
{%- endif %}
            )
{%- endif -%}
