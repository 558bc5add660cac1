/* All that a worker may see of notification. */
CREATE OR REPLACE VIEW "readpast"."worker_notification_v" AS
SELECT
    q.enqueued_at AS enqueued_at, q.type::text AS type, q.status::text AS status, q.step AS step, q.attempt_num AS attempt_num,
    q.response AS response, q.error AS error, q.started_at AS started_at, q.duration AS duration, q.scheduled_for AS scheduled_for,
    q.updated_at AS updated_at, q.lease_owner AS lease_owner, q.lease_until AS lease_until, s1."OTP" AS "ResetPassword_OTP",
    s1."UserID" AS "ResetPassword_UserID", s1."Username" AS "ResetPassword_Username", s2."EmailTo" AS "Email_EmailTo",
    s2."PreferredLanguage" AS "Email_PreferredLanguage", s2."Response" AS "Email_Response", s2."Error" AS "Email_Error",
    s3."PhoneNumber" AS "Sms_PhoneNumber", s3."Response" AS "Sms_Response", s3."Error" AS "Sms_Error"
FROM "readpast"."notification" AS q
LEFT JOIN "readpast"."notification_reset_password" AS s1 ON s1.enqueued_at = q.enqueued_at
LEFT JOIN "readpast"."notification_email" AS s2 ON s2.enqueued_at = q.enqueued_at
LEFT JOIN "readpast"."notification_sms" AS s3 ON s3.enqueued_at = q.enqueued_at;

/* What became of what was put into notification: as the worker view, with NULL for columns that are secret. */
CREATE OR REPLACE VIEW "readpast"."producer_notification_v" AS
SELECT
    q.enqueued_at AS enqueued_at, q.type::text AS type, q.status::text AS status, q.step AS step, q.attempt_num AS attempt_num,
    q.response AS response, q.error AS error, q.started_at AS started_at, q.duration AS duration, q.scheduled_for AS scheduled_for,
    q.updated_at AS updated_at, q.lease_owner AS lease_owner, q.lease_until AS lease_until, s1."OTP" AS "ResetPassword_OTP",
    s1."UserID" AS "ResetPassword_UserID", s1."Username" AS "ResetPassword_Username", s2."EmailTo" AS "Email_EmailTo",
    s2."PreferredLanguage" AS "Email_PreferredLanguage", s2."Response" AS "Email_Response", s2."Error" AS "Email_Error",
    s3."PhoneNumber" AS "Sms_PhoneNumber", s3."Response" AS "Sms_Response", s3."Error" AS "Sms_Error"
FROM "readpast"."notification" AS q
LEFT JOIN "readpast"."notification_reset_password" AS s1 ON s1.enqueued_at = q.enqueued_at
LEFT JOIN "readpast"."notification_email" AS s2 ON s2.enqueued_at = q.enqueued_at
LEFT JOIN "readpast"."notification_sms" AS s3 ON s3.enqueued_at = q.enqueued_at;
