/* With other parameters it is another function: who might execute that of the release before, may execute this. */
DO $$
DECLARE
    before_ CONSTANT regprocedure := TO_REGPROCEDURE(
        {{ text(function ~ "(" ~ before ~ ")") }}
    );
    after_ CONSTANT text := {{ text(function ~ "(" ~ after ~ ")") }};
    role_ text;
BEGIN
    IF before_ IS NOT NULL THEN
        FOR role_ IN
            SELECT a.grantee::regrole::text
            FROM pg_catalog.pg_proc AS p
            CROSS JOIN LATERAL aclexplode(p.proacl) AS a
            WHERE p.oid = before_ AND a.grantee NOT IN (0, p.proowner)
        LOOP
            EXECUTE 'GRANT EXECUTE ON FUNCTION ' || after_ || ' TO ' || role_;
        END LOOP;
        DROP FUNCTION {{ function }}({{ before }});
    END IF;
END;
$$;
GO
