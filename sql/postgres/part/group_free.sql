            /*
            Strictly in order within a group: while an earlier item of it is unfinished, or any is in flight (of two
            producers at once the later key may be committed first), the others wait. An item without a group waits for
            nobody. Rows are compared, and OFFSET stands there, so that the plan is a search in the index of groups,
            however small the table is when it is made.
            */
{%- if beside %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue ~ "_open_v") }} AS e
                WHERE
                    (e.item_group{% for column in group_order %}, e.item_order_{{ loop.index }}{% endfor %}) < (q.{{ group }}{% for column in group_order %}, q.{{ column }}{% endfor %})
                    AND e.item_group >= q.{{ group }}
                OFFSET 0
            )
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue ~ "_open_v") }} AS h
                WHERE
                    h.item_group BETWEEN q.{{ group }} AND q.{{ group }}
                    AND h.item_status = 'Processing'
                OFFSET 0
            )
{%- else %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS e
                WHERE
                    (e.{{ group }}{% for column in group_order %}, e.{{ column }}{% endfor %}) < (q.{{ group }}{% for column in group_order %}, q.{{ column }}{% endfor %})
                    AND e.{{ group }} >= q.{{ group }}
                    AND {{ m.open("e.") }}
                OFFSET 0
            )
            AND NOT EXISTS (
                SELECT 1
                FROM {{ table }} AS h
                WHERE
                    h.{{ group }} BETWEEN q.{{ group }} AND q.{{ group }}
                    AND {{ m.stands(processing, "h.") }}
                OFFSET 0
            )
{%- endif %}
