{#- And nothing is found by a name alone from here on but what is the server's own. -#}
SELECT 1 AS granted
FROM (
    SELECT
        pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(?::text, 0)),
        pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', TRUE)
) AS l
