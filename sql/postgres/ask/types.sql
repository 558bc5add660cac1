/* A domain: what it is made of; of text its length in characters, -1 where it has no end; and of numbers how many digits they have, in all
and behind the point. */
WITH RECURSIVE made_of AS (
    SELECT t.oid, t.typbasetype AS base, t.typtypmod AS typmod
    FROM pg_catalog.pg_type AS t
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
    WHERE n.nspname = ?::text AND t.typname = ?::text
    UNION ALL
    SELECT t.oid, t.typbasetype, GREATEST(m.typmod, t.typtypmod)
    FROM made_of AS m
    INNER JOIN pg_catalog.pg_type AS t ON t.oid = m.base
)

SELECT
    t.typname::text AS base, CASE WHEN m.typmod > 4 THEN m.typmod - 4 ELSE -1 END AS length,
    CASE WHEN t.typname = 'numeric' AND m.typmod > 4 THEN ((m.typmod - 4) >> 16) & 65535 END AS precision,
    /* Eleven bits with a sign. */
    CASE WHEN t.typname = 'numeric' AND m.typmod > 4 THEN (((m.typmod - 4) & 2047) # 1024) - 1024 END AS scale
FROM made_of AS m
INNER JOIN pg_catalog.pg_type AS t ON t.oid = m.oid
WHERE m.base = 0
