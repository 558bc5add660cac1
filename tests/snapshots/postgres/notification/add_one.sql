/*
Enqueue one item, with the caller's other work. Returns its key and its concurrency token.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_notification_utx"(
    type_ text DEFAULT 'ResetPassword', "ResetPassword_" json DEFAULT NULL, "Email_" json DEFAULT NULL,
    "Sms_" json DEFAULT NULL, scheduled_for_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_notification_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', scheduled_for_, 'step', step_,
            'columns', json_build_object('ResetPassword', "ResetPassword_", 'Email', "Email_", 'Sms', "Sms_")
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_notification_utx"(text, json, json, json, timestamptz, text) FROM public;

/*
Enqueue one item. Returns its key and its concurrency token.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_notification_trx"(
    type_ text DEFAULT 'ResetPassword', "ResetPassword_" json DEFAULT NULL, "Email_" json DEFAULT NULL,
    "Sms_" json DEFAULT NULL, scheduled_for_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_notification_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', scheduled_for_, 'step', step_,
            'columns', json_build_object('ResetPassword', "ResetPassword_", 'Email', "Email_", 'Sms', "Sms_")
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_notification_trx"(text, json, json, json, timestamptz, text) FROM public;
