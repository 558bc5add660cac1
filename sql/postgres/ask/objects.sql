/*
The code in a schema: whether the login may use it, and whether what runs with its owner's rights has a search path of
its own. The settings in between are SQL Server's.
*/
SELECT o.name, o.may_use, 1 AS ansi_nulls, 1 AS quoted_identifier, o.pinned
FROM (
    SELECT
        p.pronamespace AS namespace, p.proname::text AS name,
        HAS_FUNCTION_PRIVILEGE(p.oid, 'EXECUTE')::integer AS may_use,
        CASE
            WHEN NOT p.prosecdef THEN 1
            WHEN EXISTS (SELECT 1 FROM UNNEST(p.proconfig) AS c (setting) WHERE c.setting LIKE 'search_path=%') THEN 1
            ELSE 0
        END AS pinned
    FROM pg_catalog.pg_proc AS p
    UNION ALL
    SELECT c.relnamespace, c.relname::text, HAS_TABLE_PRIVILEGE(c.oid, 'SELECT')::integer, 1
    FROM pg_catalog.pg_class AS c
    WHERE c.relkind = 'v'
) AS o
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = o.namespace
WHERE n.nspname = ?::text
ORDER BY o.name
