/* Functions whose text claims rows, or takes locks of its own. */
SELECT n.nspname::text AS schema, p.proname::text AS name, LEFT(p.prosrc, 20000) AS source
FROM pg_catalog.pg_proc AS p
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
INNER JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang
WHERE
    l.lanname NOT IN ('c', 'internal') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND p.prosrc ~* '(skip\s+locked|for\s+(no\s+key\s+)?update|advisory_)'
    AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_class AS o WHERE o.relnamespace = n.oid AND o.relname = 'queue_schema_version'
    )
ORDER BY n.nspname, p.proname
LIMIT 200
