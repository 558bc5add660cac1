/* The columns of a table or view. The length of text is in characters, -1 where it has no end; a time and a number have decimals. */
SELECT
    a.attname::text AS name, CASE WHEN t.typtype = 'd' THEN b.typname ELSE t.typname END::text AS type,
    CASE WHEN t.typtype = 'd' THEN t.typname::text END AS alias,
    CASE
        WHEN t.typtype = 'd' THEN CASE WHEN t.typtypmod > 4 THEN t.typtypmod - 4 ELSE -1 END
        WHEN a.atttypmod > 4 THEN a.atttypmod - 4
        ELSE -1
    END AS length,
    CASE WHEN a.attnotnull OR t.typnotnull THEN 0 ELSE 1 END AS nullable,
    CASE WHEN a.attgenerated <> '' THEN 1 ELSE 0 END AS computed,
    CASE WHEN a.attidentity <> '' THEN 1 ELSE 0 END AS identity,
    CASE WHEN a.atthasdef AND a.attgenerated = '' THEN 1 ELSE 0 END AS has_default,
    CASE
        WHEN t.typname = 'numeric' THEN CASE WHEN a.atttypmod >= 4 THEN (a.atttypmod - 4) & 2047 ELSE -1 END
        WHEN t.typtype = 'd' AND t.typtypmod >= 0 THEN t.typtypmod
        WHEN t.typtype <> 'd' AND a.atttypmod >= 0 THEN a.atttypmod
        ELSE 6
    END AS scale,
    NULL::text AS collation,
    /* Text that the server's encoding lacks is refused there. */
    NULL::integer AS code_page,
    CASE
        WHEN t.typtype = 'e'
            THEN (
                SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder)::text
                FROM pg_catalog.pg_enum AS e
                WHERE e.enumtypid = t.oid
            )
    END AS labels,
    NULL::text AS collated
FROM pg_catalog.pg_attribute AS a
INNER JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
INNER JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type AS b ON b.oid = t.typbasetype
WHERE
    n.nspname = ?::text AND c.relname = ?::text AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0
    AND NOT a.attisdropped
ORDER BY a.attnum
