/* The indexes of a table, a row for each column of their keys. An expression has no column. */
SELECT
    i.relname::text AS name, x.indisunique::integer AS is_unique, (NOT x.indisvalid)::integer AS disabled,
    PG_GET_EXPR(x.indpred, x.indrelid) AS filter, 0 AS ignores_duplicates,
    COALESCE(a.attname::text, '') AS column_name, (x.indoption[k.place - 1] & 1)::integer AS descends
FROM pg_catalog.pg_index AS x
INNER JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
INNER JOIN pg_catalog.pg_class AS c ON c.oid = x.indrelid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
CROSS JOIN LATERAL UNNEST(x.indkey::smallint[]) WITH ORDINALITY AS k (attnum, place)
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attnum
WHERE n.nspname = ?::text AND c.relname = ?::text AND k.place <= x.indnkeyatts
ORDER BY i.relname, k.place
