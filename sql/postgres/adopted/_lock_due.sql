    /* Materialized, so that the rows are chosen once. */
    WITH due AS MATERIALIZED (
        SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
        FROM {{ table }} AS q
        WHERE
{%- include "adopted/_pending.sql" %}
{%- if due_is %}
            AND {{ due_is }}
{%- endif %}
{%- if own_types_only %}
            AND {% set kind = "q." ~ role.kind %}{% include "adopted/_type_access.sql" %}
{%- endif %}
{%- if group %}
            /*
            Strictly in order within a group: while an earlier item of it is unfinished, or any is in flight, the others
            wait. An item without a group waits for nobody. Rows are compared, and OFFSET stands there, so that the plan
            is a search in the index of groups, however small the table is when it is made.
            */
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
{%- endif %}
{%- include "adopted/_order.sql" %}
        LIMIT {{ most }}
        FOR NO KEY UPDATE OF q SKIP LOCKED
    )

    SELECT {% for column in key %}ARRAY_AGG(d.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ into }}
    FROM due AS d;
