{%- if subtypes %}

    /* And what the subtypes have of it, after their item as everywhere. */
{%- for subtype in subtypes %}
    DELETE FROM {{ subtype.table }} AS u
    USING json_to_recordset(same_) AS r (key timestamptz, token timestamptz)
    WHERE r.token IS NOT NULL AND u.enqueued_at BETWEEN r.key AND r.key;
{%- endfor %}
    WITH item AS MATERIALIZED (
        SELECT r.key, COALESCE(i.type, {{ text(types[0]) }}) AS type, i.columns
        FROM
            ROWS FROM (json_to_recordset(items_) AS (type text, columns json)) WITH ORDINALITY AS i (type, columns, position)
        INNER JOIN json_to_recordset(same_) AS r (ordinal integer, key timestamptz, token timestamptz)
            ON r.ordinal = i.position - 1 AND r.token IS NOT NULL
    ),
    added AS (
        SELECT i.key AS enqueued_at
        FROM item AS i
    )
{%- for subtype in subtypes %},
{% include "part/add_subtype.sql" %}
{%- endfor %}
    SELECT COUNT(*) INTO count_
    FROM item AS i;
{%- endif %}
