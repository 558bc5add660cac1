    /*
    The rows of the table first, in the order of their keys, so that two calls never wait for each other. What they and
    {{ queue }}_lease hold is read in the next statement: only then nobody changes it any more.
    */
    PERFORM
    FROM (
        SELECT
{{- m.key_read("i.key") }}
        FROM json_to_recordset(items_) AS i (key {{ m.key_given() }})
        ORDER BY {{ m.list("key_") }}
    ) AS i
    CROSS JOIN LATERAL (
        SELECT 1 AS one
        FROM {{ table }} AS q
        WHERE {{ m.at_key("i.key_") }}
        FOR NO KEY UPDATE
    ) AS q;
    now_ := clock_timestamp();
