
    /* Completed items move to the history, as they are now. */
    WITH said AS MATERIALIZED (
        SELECT
{{- m.key_read("a.key") }}
        FROM json_to_recordset(COALESCE(answers_, '[]')) AS a (answer text, key {{ m.key_given() }}, status text)
        WHERE
            a.answer = 'OK'
            AND a.status = 'Completed'
    ),

    done AS MATERIALIZED (
        SELECT {{ m.seeks("v.item_seek_", "seek_") }}s.*
        FROM said AS s
        INNER JOIN LATERAL (
            {{ m.found("s.key_", ["status"]) }}
        ) AS v
            ON TRUE
    ),

    moved AS (
        DELETE FROM {{ table }} AS q
        USING done AS d
        WHERE {{ m.at_found("d") }}
        RETURNING q.*
    )

    INSERT INTO {{ history_table }}
    SELECT m.*
    FROM moved AS m;
