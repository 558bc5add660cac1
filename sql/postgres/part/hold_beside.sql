{#- Locks the rows beside a call's items, in the order of their keys, and those `of_table` before them: held_ says which it has. #}
    SELECT ARRAY_AGG(COALESCE(s.held, FALSE) ORDER BY i.position)
    INTO held_
    FROM (
        SELECT
{{- m.key_read("i.key") }},
            i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (key {{ m.key_given() }})) WITH ORDINALITY AS i (key, position)
        ORDER BY {{ m.list("key_") }}
    ) AS i
{%- if of_table %}
    LEFT JOIN LATERAL (
        SELECT TRUE AS held
        FROM {{ table }} AS q
        WHERE {{ m.at_key("i.key_") }}
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS q ON TRUE
{%- endif %}
    LEFT JOIN LATERAL (
        SELECT TRUE AS held
        FROM {{ object(queue ~ "_lease") }} AS s
        WHERE {{ "q.held AND " if of_table }}{{ m.lease_at_key("i.key_") }}
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS s ON TRUE;