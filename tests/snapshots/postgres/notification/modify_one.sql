/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as modify_notification_set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: notification, queue_transition, notification_reset_password, notification_email, notification_sms.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_notification_utx"(
    enqueued_at_ timestamptz, updated_at_ timestamptz, status_ text, step_ text DEFAULT NULL,
    response_ text DEFAULT NULL, error_ text DEFAULT NULL, scheduled_for_ timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL, attempt_num_ integer DEFAULT NULL, set_ json DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT m.answer, m.answer_ordinal, m.answer_due_ms, m.answer_key, m.answer_token, m.answer_attempt, m.answer_status
    FROM "readpast"."modify_notification_set_utx"(
        NULL, COALESCE(worker_, session_user || '/' || pg_backend_pid()),
        json_build_array(json_build_object(
            'key', enqueued_at_, 'token', updated_at_, 'attempt', attempt_num_,
            'status', status_, 'step', step_, 'response', response_, 'error', error_, 'due', scheduled_for_, 'set', set_
        ))
    ) AS m;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_notification_utx"(
    timestamptz, timestamptz, text, text, text, text, timestamptz, text, integer, json
) FROM public;

/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (RP023), the transition is not legal (RP024), the item is not there (RP025),
or worker_ and attempt_num_ no longer hold its lease (RP026). Returns the item as it is now, where it is still there.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: notification, queue_transition, notification_reset_password, notification_email, notification_sms.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_notification_trx"(
    enqueued_at_ timestamptz, updated_at_ timestamptz, status_ text, step_ text DEFAULT NULL,
    response_ text DEFAULT NULL, error_ text DEFAULT NULL, scheduled_for_ timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL, attempt_num_ integer DEFAULT NULL, set_ json DEFAULT NULL
)
RETURNS SETOF "readpast"."worker_notification_v"
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    result_ record;
BEGIN
    SELECT m.answer, m.answer_status AS status
    INTO result_
    FROM "readpast"."modify_notification_utx"(
        enqueued_at_, updated_at_, status_, step_, response_, error_, scheduled_for_, worker_, attempt_num_, set_
    ) AS m;

    IF result_.answer <> 'OK' THEN
        RAISE EXCEPTION 'modify_notification_trx: %; the item is %, asked for was %',
            result_.answer, COALESCE(result_.status, 'not there'), status_
        USING ERRCODE = CASE result_.answer
            WHEN 'CONFLICT' THEN 'RP023'
            WHEN 'ILLEGAL_TRANSITION' THEN 'RP024'
            WHEN 'NOT_FOUND' THEN 'RP025'
            ELSE 'RP026'
        END;
    END IF;

    RETURN QUERY
    SELECT v.*
    FROM (SELECT enqueued_at_::timestamptz AS key_1) AS k
    INNER JOIN "readpast"."worker_notification_v" AS v ON v.enqueued_at BETWEEN k.key_1 AND k.key_1;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_notification_trx"(
    timestamptz, timestamptz, text, text, text, text, timestamptz, text, integer, json
) FROM public;
