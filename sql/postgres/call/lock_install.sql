{#- One install waits for another for a minute, and for what others lock as long as its session says: CASE has an order.
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
                    WHEN pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(?::text, 0))::text IS NOT NULL
                        THEN pg_catalog.set_config('lock_timeout', b.lock_timeout, TRUE)
                END
        END,
        pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', TRUE)
    FROM before AS b
) AS l
