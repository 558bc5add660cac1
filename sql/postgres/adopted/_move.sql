
    /* Completed items move to the history, as they are now. */
    WITH said AS MATERIALIZED (
        SELECT
{%- set from = "a.key" %}
{%- include "adopted/_key_read.sql" %}
        FROM json_to_recordset(COALESCE(answers_, '[]')) AS a (answer text, key text, status text)
        WHERE
            a.answer = 'OK'
            AND a.status = 'Completed'
    ),

    done AS MATERIALIZED (
        SELECT {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}s.*
        FROM said AS s
        INNER JOIN LATERAL (
            {% set of = "s.key_" %}{% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
    ),

    moved AS (
        DELETE FROM {{ table }} AS q
        USING done AS d
        WHERE {% set of = "d." -%}{% include "adopted/_at_found.sql" %}
        RETURNING q.*
    )

    INSERT INTO {{ history_table }}
    SELECT m.*
    FROM moved AS m;
