
    /* Completed items move to the history, as they are now. */
    WITH done AS MATERIALIZED (
        SELECT
{%- set from = "a.key" %}
{%- include "adopted/_key_read.sql" %}
        FROM json_to_recordset(COALESCE(answers_, '[]')) AS a (answer text, key text, status text)
        WHERE
            a.answer = 'OK'
            AND a.status = 'Completed'
    ),

    moved AS (
        DELETE FROM {{ table }} AS q
        USING done AS d
        WHERE {% set of = "d.key_" -%}{% include "adopted/_at_key.sql" %}
        RETURNING q.*
    )

    INSERT INTO {{ history_table }}
    SELECT m.*
    FROM moved AS m;
