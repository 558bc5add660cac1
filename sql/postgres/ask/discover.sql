/*
Columns of tables that may be queues: by the name of the table or of one of its columns, or since rows come and go. Tables of readpast's
own are left out. A place in the primary key; the words of an enum; a default.
*/
WITH named AS MATERIALIZED (
    SELECT
        c.oid, n.nspname::text AS schema, c.relname::text AS name, c.reltuples::bigint AS items,
        COALESCE(s.n_tup_ins, 0) AS inserted, COALESCE(s.n_tup_del, 0) AS deleted
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_stat_user_tables AS s ON s.relid = c.oid
    WHERE
        c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%'
        AND NOT EXISTS (
            SELECT 1 FROM pg_catalog.pg_class AS o WHERE o.relnamespace = n.oid AND o.relname = 'queue_schema_version'
        )
),

likely AS MATERIALIZED (
    SELECT t.*
    FROM named AS t
    WHERE
        t.name ~* '(queue|job|outbox|inbox|task|message|envelope|execution|trigger|delivery|q_)'
        OR (t.deleted > 1000 AND t.deleted * 2 > t.inserted)
        OR EXISTS (
            SELECT 1
            FROM pg_catalog.pg_attribute AS a
            WHERE
                a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
                AND a.attname ~* '(status|state|processed|in_*process|lock|lease|claim|reserved|fetched|run_*at|attempt|retr(y|ies)|visible|recoverable)'
        )
)

SELECT
    t.schema, t.name, a.attname::text AS column_name, CASE WHEN y.typtype = 'd' THEN b.typname ELSE y.typname END::text AS type,
    CASE WHEN a.atttypmod > 4 THEN a.atttypmod - 4 ELSE -1 END AS length,
    CASE WHEN a.attnotnull OR y.typnotnull THEN 0 ELSE 1 END AS nullable,
    CASE WHEN a.attidentity <> '' OR PG_GET_EXPR(d.adbin, d.adrelid) LIKE 'nextval(%' THEN 1 ELSE 0 END AS numbered,
    CASE WHEN a.attgenerated = '' THEN PG_GET_EXPR(d.adbin, d.adrelid) END AS default_text,
    CASE WHEN ARRAY_POSITION(k.indkey::smallint[], a.attnum) < k.indnkeyatts THEN ARRAY_POSITION(k.indkey::smallint[], a.attnum) + 1 ELSE 0 END AS key_place,
    CASE
        WHEN y.typtype = 'e'
            THEN (
                SELECT JSON_AGG(e.enumlabel ORDER BY e.enumsortorder)::text
                FROM pg_catalog.pg_enum AS e
                WHERE e.enumtypid = y.oid
            )
    END AS labels,
    CASE WHEN a.attgenerated <> '' THEN 1 ELSE 0 END AS computed, t.items, 0 AS is_heap, 0 AS escalates
FROM likely AS t
INNER JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
INNER JOIN pg_catalog.pg_type AS y ON y.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type AS b ON b.oid = y.typbasetype
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_index AS k ON k.indrelid = t.oid AND k.indisprimary
ORDER BY t.schema, t.name, a.attnum
