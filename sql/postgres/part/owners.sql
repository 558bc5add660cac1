    /*
    Objects of somebody who is not trusted: not the role that installs, nor one that it is a member of,
    nor the database's owner, nor a superuser. His triggers and functions would run with the rights of who installs.
    Members are looked up here, since a superuser counts as a member of every role.
    */
    WITH RECURSIVE mine (oid) AS (
        SELECT r.oid
        FROM pg_catalog.pg_roles AS r
        WHERE r.rolname::text = current_user::text
        UNION
        SELECT m.roleid
        FROM mine AS i
        INNER JOIN pg_catalog.pg_auth_members AS m ON m.member = i.oid
    ),
    names (name) AS MATERIALIZED (
        SELECT n.name FROM pg_catalog.json_array_elements_text({{ names }}) AS n (name)
    ),
    place (oid) AS MATERIALIZED (
        SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname::text = {{ text(schema_name) }}
    ),
    found (kind, name, owner) AS (
        SELECT 'schema', n.nspname::text, n.nspowner
        FROM pg_catalog.pg_namespace AS n
        WHERE n.oid IN (SELECT p.oid FROM place AS p)
        UNION ALL
        SELECT 'relation', c.relname::text, c.relowner
        FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace IN (SELECT p.oid FROM place AS p) AND c.relname::text IN (SELECT s.name FROM names AS s)
        UNION ALL
        SELECT 'function', f.proname::text, f.proowner
        FROM pg_catalog.pg_proc AS f
        WHERE f.pronamespace IN (SELECT p.oid FROM place AS p) AND f.proname::text IN (SELECT s.name FROM names AS s)
        UNION ALL
        SELECT 'type', t.typname::text, t.typowner
        FROM pg_catalog.pg_type AS t
        WHERE t.typnamespace IN (SELECT p.oid FROM place AS p) AND t.typname::text IN (SELECT s.name FROM names AS s)
        UNION ALL
        /* A maker of triggers on a table need not own it; the function that they run is somebody's. */
        SELECT 'function of the trigger ' || g.tgname || ' on ' || c.relname || ':', f.proname::text, f.proowner
        FROM pg_catalog.pg_class AS c
        INNER JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = c.oid
        INNER JOIN pg_catalog.pg_proc AS f ON f.oid = g.tgfoid
        WHERE c.relnamespace IN (SELECT p.oid FROM place AS p) AND c.relname::text IN (SELECT s.name FROM names AS s)
    )

    SELECT
        f.kind, f.name, 'belongs to' AS verb, r.rolname::text AS owner,
        'Its owner''s triggers and functions would run with the rights of who installs. Drop it, change its owner, '
        || 'install as that role or as a member of it, or choose another schema.' AS remedy
    FROM found AS f
    INNER JOIN pg_catalog.pg_roles AS r ON r.oid = f.owner
    WHERE
        NOT r.rolsuper AND r.rolname::text <> 'pg_database_owner' AND r.oid NOT IN (SELECT i.oid FROM mine AS i)
        AND r.oid NOT IN (
            SELECT d.datdba FROM pg_catalog.pg_database AS d WHERE d.datname::text = pg_catalog.current_database()::text
        )
    ORDER BY
        f.kind = 'schema' DESC, f.kind, f.name
    LIMIT 1
