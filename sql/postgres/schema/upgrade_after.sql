{#- Once the queue's objects are made anew. -#}
{% filter statement %}
/* A role that could use a function or view before can use the one that took its place. */
DO $$
DECLARE
    grant_ text;
BEGIN
    FOR grant_ IN
        SELECT
            'GRANT ' || k.privilege_type || ' ON ' || g.target || ' TO ' || k.grantee::regrole
            || CASE WHEN k.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
        FROM readpast_kept_grant AS k
        INNER JOIN (
            SELECT
                'FUNCTION' AS kind,
                p.proname AS name,
                'FUNCTION ' || p.oid::regprocedure AS target
            FROM pg_proc AS p
            WHERE p.pronamespace = {{ text(schema) }}::regnamespace
            UNION ALL
            SELECT
                'VIEW' AS kind,
                c.relname AS name,
                c.oid::regclass::text AS target
            FROM pg_class AS c
            WHERE c.relnamespace = {{ text(schema) }}::regnamespace AND c.relkind = 'v'
        ) AS g
            ON g.kind = k.kind AND g.name = k.name
    LOOP
        EXECUTE grant_;
    END LOOP;
END;
$$;
{% endfilter %}
{% filter statement %}
/* Another queue may be upgraded in this transaction. */
DROP TABLE pg_temp.readpast_kept_grant;
{% endfilter %}
