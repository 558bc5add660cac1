/*
Whether Citus shards a schema; if so, how many of its functions and sequences an install made before that: functions that are planned as Citus
cannot, and what its other nodes do not have.
*/
WITH place AS (
    SELECT n.oid, EXISTS (SELECT 1 FROM pg_catalog.pg_dist_schema AS s WHERE s.schemaid = n.oid) AS is_sharded
    FROM pg_catalog.pg_namespace AS n
    WHERE n.nspname = ?::text
),

made AS (
    SELECT 'pg_catalog.pg_proc'::regclass AS class, p.oid, 'plan_cache_mode=force_generic_plan' = ANY(p.proconfig) AS is_old
    FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace IN (SELECT s.oid FROM place AS s)
    UNION ALL
    SELECT 'pg_catalog.pg_class'::regclass, c.oid, FALSE
    FROM pg_catalog.pg_class AS c
    WHERE
        c.relnamespace IN (SELECT s.oid FROM place AS s) AND c.relkind = 'S'
        /* The sequence of a column goes with its table. */
        AND NOT EXISTS (
            SELECT 1 FROM pg_catalog.pg_depend AS d
            WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i'
        )
)

SELECT
    p.is_sharded::integer AS is_sharded,
    (
        SELECT COUNT(*)
        FROM made AS m
        WHERE
            m.is_old
            OR NOT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_object AS o WHERE o.classid = m.class AND o.objid = m.oid)
    )::integer AS old
FROM place AS p
