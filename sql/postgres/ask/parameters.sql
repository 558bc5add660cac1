/*
The parameters of a function or procedure that take a value, a row for each; one row without a parameter when it takes
none. Functions of one name that differ in their parameters follow one another.
*/
SELECT
    p.oid::bigint::text AS procedure_id, COALESCE(k.name, '') AS name,
    CASE WHEN t.typtype = 'd' THEN b.typname ELSE t.typname END::text AS type, FORMAT_TYPE(t.oid, NULL) AS declared,
    (k.place > p.pronargs - p.pronargdefaults)::integer AS has_default, (p.prokind = 'p')::integer AS is_called
FROM pg_catalog.pg_proc AS p
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
LEFT JOIN LATERAL (
    SELECT a.type_id, (p.proargnames)[a.place] AS name, ROW_NUMBER() OVER (ORDER BY a.place) AS place
    FROM UNNEST(COALESCE(p.proallargtypes, p.proargtypes::oid [])) WITH ORDINALITY AS a (type_id, place)
    WHERE p.proargmodes IS NULL OR (p.proargmodes)[a.place] IN ('i', 'b', 'v')
) AS k ON TRUE
LEFT JOIN pg_catalog.pg_type AS t ON t.oid = k.type_id
LEFT JOIN pg_catalog.pg_type AS b ON b.oid = t.typbasetype
WHERE n.nspname = ?::text AND p.proname = ?::text AND p.prokind IN ('f', 'p')
ORDER BY p.oid, k.place
