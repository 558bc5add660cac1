/*
Columns that may show a state, with the few values that the server's statistics know, the most frequent first, as far as the login may see
them.
*/
SELECT s.schemaname::text AS schema, s.tablename::text AS name, s.attname::text AS column_name, v.value
FROM pg_catalog.pg_stats AS s
CROSS JOIN LATERAL UNNEST(s.most_common_vals::text::text[]) WITH ORDINALITY AS v (value, place)
WHERE
    s.attname ~* '(status|state|processed|in_*process|sent|done|handled|published)'
    AND s.n_distinct BETWEEN 1 AND 20 AND s.schemaname NOT IN ('pg_catalog', 'information_schema')
ORDER BY s.schemaname, s.tablename, s.attname, v.place
