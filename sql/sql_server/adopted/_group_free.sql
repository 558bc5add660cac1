            /*
            Strictly in order within a group: while an earlier item of it is unfinished, or any is in flight, the others
            wait. One look in the index for each way in which the table shows such an item.
            */
{%- for e in encodings %}
{%- set open = e.states | select("in", ["Pending", "Processing", "Error", "Paused"]) | list %}
{%- if open %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS e
{%- if open | length < e.states | length %}
                LEFT JOIN {{ object(queue ~ "_Lease") }} AS z
                    ON {{ n.same(key, "z", "e") }}
{%- endif %}
                WHERE
                    e.{{ group }} = q.{{ group }}
                    AND {{ n.stands(e.conditions, "e") }}
                    AND {% include "adopted/_earlier.sql" %}
{%- if open | length < e.states | length %}
                    AND {% if e.default in open %}(z.[Status] IS NULL OR z.[Status] NOT IN ({{ n.states(e.states | reject("in", open) | list) }})){% else %}z.[Status] IN ({{ n.states(open) }}){% endif %}
{%- endif %}
            )
{%- endif %}
{%- endfor %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS e
                INNER JOIN {{ object(queue ~ "_Lease") }} AS z
                    ON {{ n.same(key, "z", "e") }}
                WHERE
                    e.{{ group }} = q.{{ group }}
                    AND {{ n.stands(processing, "e") }}
                    AND z.[Status] = 'Processing'
            )
