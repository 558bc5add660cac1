        SELECT
            CASE WHEN r.duplicate THEN 'DUPLICATE' ELSE 'OK' END, (r.position - 1)::integer, NULL::bigint,
            {{ "r.key" if not dedup or dedup.existing else "CASE WHEN NOT r.duplicate THEN r.key END" }},
            {{ "r.token" if dedup and dedup.replaces else "CASE WHEN NOT r.duplicate THEN " ~ at ~ " END" }},
            CASE WHEN NOT r.duplicate THEN 0 END, CASE WHEN NOT r.duplicate THEN 'Pending' END
        FROM
            ROWS FROM (json_to_recordset(result_) AS (key timestamptz, duplicate boolean{{ ", token timestamptz" if dedup and dedup.replaces }}))
            WITH ORDINALITY AS r (key, duplicate, {{ "token, " if dedup and dedup.replaces }}position)
        ORDER BY r.position;
