{#- Before there is a schema, an advisory lock is what one install waits for another at, for a minute; after that see
part/lock_schema. It waits for what others lock as long as its session says: CASE has an order.
And nothing is found by a name alone from here on but what is the server's own. -#}
WITH before AS MATERIALIZED (
    SELECT pg_catalog.current_setting('lock_timeout') AS lock_timeout
)

SELECT 1 AS granted
FROM (
    SELECT
        CASE
            WHEN pg_catalog.set_config('lock_timeout', '60000', TRUE) IS NOT NULL
                THEN CASE
                    WHEN
                        CASE
                            WHEN l.is_there THEN ''
                            ELSE pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(?::text, 0))::text
                        END IS NOT NULL
                        THEN pg_catalog.set_config('lock_timeout', b.lock_timeout, TRUE)
                END
        END,
        pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', TRUE)
    FROM before AS b
    CROSS JOIN (SELECT {% include "part/is_there.sql" %} AS is_there) AS l
) AS l
