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
            /* An earlier item of its group that is not finished goes first, however long it takes. */
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue ~ "_open_v") }} AS e
                WHERE
                    e.item_group = q.{{ group }}
                    AND ({% for column in order %}e.item_order_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %})
                    {{ ">" if order[0].descending else "<" }} ({% for column in order %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %})
            )
{%- endif %}
{%- include "adopted/_order.sql" %}
        LIMIT {{ most }}
        FOR NO KEY UPDATE OF q SKIP LOCKED
    )

    SELECT {% for column in key %}ARRAY_AGG(d.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ into }}
    FROM due AS d;
