//! The small functions of a queue are a name for an expression. PostgreSQL puts the expression in the place of the call only if the
//! function promises no more than its parts do; else each row pays for a call of an SQL function, a fifth of a settlement once.

use support::scratch::Scratch;

/// The functions whose calls stay in a plan, of those that could be written out. A function that sets a parameter of the server
/// cannot, nor one that reads the catalog, nor one that calls another of its name.
const CALLED: &str = "CREATE FUNCTION public.called() RETURNS text LANGUAGE plpgsql AS $$
DECLARE f record; line text; names_ text[] := '{}';
BEGIN
    FOR f IN
        SELECT p.proname, a.names, a.values
        FROM pg_proc AS p
        INNER JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname = 'sql'
        CROSS JOIN LATERAL (
            SELECT string_agg('a' || n, ', ') AS names, string_agg(format('NULL::%s AS a%s', t::regtype, n), ', ') AS values,
                bool_or(t::regtype::text LIKE 'any%') AS is_open
            FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS x (t, n)
        ) AS a
        WHERE p.pronamespace = 'readpast'::regnamespace AND NOT p.proretset AND NOT p.prosecdef AND NOT a.is_open AND NOT EXISTS (
            SELECT 1 FROM pg_proc AS o WHERE o.proname = p.proname AND (o.proconfig IS NOT NULL OR o.prolang <> l.oid)
        ) AND p.prosrc NOT LIKE '%FROM pg_catalog.%'
    LOOP
        FOR line IN EXECUTE format('EXPLAIN (VERBOSE) SELECT readpast.%I(%s) FROM (SELECT %s OFFSET 0) AS x', f.proname, f.names, f.values) LOOP
            IF line LIKE '%' || f.proname || '(%' THEN names_ := names_ || f.proname::text;
            END IF;
        END LOOP;
    END LOOP;
    RETURN array_to_string(names_, ', ');
END;
$$";

#[test]
fn calls_of_them_are_written_out() {
    let scratch = Scratch::new();
    scratch.run(CALLED);
    assert_eq!(scratch.look("SELECT public.called()"), "");
    // A promise that its parts do not keep: seen by the same look.
    scratch.run("ALTER FUNCTION readpast.queue_key_fn(timestamptz) IMMUTABLE");
    assert_eq!(scratch.look("SELECT public.called()"), "queue_key_fn");
}
