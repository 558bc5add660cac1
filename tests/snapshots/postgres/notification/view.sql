/* All that a worker may see of notification. */
CREATE OR REPLACE VIEW "readpast"."worker_notification_v" AS
SELECT
    q.enqueued_at,
    q.type::text AS type,
    q.status::text AS status,
    q.step,
    q.attempt_num,
    q.response,
    q.error,
    q.started_at,
    q.duration,
    q.scheduled_for,
    q.updated_at,
    q.lease_owner,
    q.lease_until,
    q."Subject"
FROM "readpast"."notification" AS q;
GO