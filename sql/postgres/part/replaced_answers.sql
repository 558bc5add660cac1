    /*
    With the tokens: of what is new, and of what was replaced. An item that came between the look and the insertion has the values of
    somebody else: it is looked at again.
    */
    WITH known AS (
        SELECT r.key, now_ AS token
        FROM json_to_recordset(result_) AS r (key timestamptz, duplicate boolean)
        WHERE NOT r.duplicate
        UNION ALL
        SELECT r.key, r.token
        FROM json_to_recordset(same_) AS r (key timestamptz, token timestamptz)
    )
    SELECT
        json_agg(json_build_object('key', r.key, 'duplicate', r.duplicate, 'token', k.token) ORDER BY r.position),
        COUNT(*) FILTER (WHERE k.key IS NULL)
    INTO result_, count_
    FROM
        ROWS FROM (json_to_recordset(result_) AS (key timestamptz, duplicate boolean))
        WITH ORDINALITY AS r (key, duplicate, position)
    LEFT JOIN known AS k
        ON k.key = r.key;
    IF count_ > 0 THEN
        RAISE EXCEPTION '{{ procedure }}: the same work came and went at once; try again' USING ERRCODE = 'unique_violation';
    END IF;
