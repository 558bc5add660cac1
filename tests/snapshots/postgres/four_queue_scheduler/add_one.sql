/*
Enqueue one item, with the caller's other work. Returns its key and its concurrency token.
For work that is there already it returns no key, and no token.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_four_queue_scheduler_utx"(
    type_ text DEFAULT 'Default', "reputation_" integer DEFAULT NULL, due_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (item_key text, item_token timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_four_queue_scheduler_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', due_, 'step', step_, 'columns', json_build_object('reputation', "reputation_")
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_four_queue_scheduler_utx"(text, integer, timestamptz, text) FROM public;

/*
Enqueue one item. Returns its key and its concurrency token.
For work that is there already it returns no key, and no token.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_four_queue_scheduler_trx"(
    type_ text DEFAULT 'Default', "reputation_" integer DEFAULT NULL, due_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (item_key text, item_token timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_four_queue_scheduler_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', due_, 'step', step_, 'columns', json_build_object('reputation', "reputation_")
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_four_queue_scheduler_trx"(text, integer, timestamptz, text) FROM public;
