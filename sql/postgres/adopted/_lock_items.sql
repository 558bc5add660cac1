    /*
    The rows of the table first, in the order of their keys, so that two calls never wait for each other. What they and
    {{ queue }}_lease hold is read in the next statement: only then nobody changes it any more.
    */
    PERFORM
    FROM (
        SELECT
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %}
        FROM json_to_recordset(items_) AS i (key text)
        ORDER BY {% set of = "key_" %}{% include "adopted/_key_list.sql" %}
    ) AS i
    CROSS JOIN LATERAL (
        SELECT 1 AS one
        FROM {{ table }} AS q
        WHERE {% set of = "i.key_" %}{% include "adopted/_at_key.sql" %}
        FOR NO KEY UPDATE
    ) AS q;
    now_ := clock_timestamp();
