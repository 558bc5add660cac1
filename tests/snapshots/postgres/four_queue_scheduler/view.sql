/*
four_queue_scheduler as readpast sees it: each item's state, from the columns of its table where it has them, and
from four_queue_scheduler_lease for the rest. Where the two disagree, because somebody changed a row by hand,
the table is right.
*/
CREATE OR REPLACE VIEW "readpast"."four_queue_scheduler_item_v" AS
SELECT
    q."id" AS item_key_1, q."in_process" AS item_seek_1, s.key_1 IS NOT NULL AS item_has_lease, 'Default'::text AS item_type,
    NULL::timestamptz AS item_enqueued_at, c.status AS item_status, s.step AS item_step, COALESCE(q."attempts", 0)::integer AS item_attempt,
    s.response AS item_response, s.error AS item_error, (q."start_date")::timestamptz AS item_started_at,
    CASE WHEN "readpast"."queue_is_finished_fn"(c.status) THEN (q."end_date")::timestamptz END AS item_finished_at, 
    CASE
        WHEN "readpast"."queue_is_finished_fn"(c.status)
            THEN "readpast"."queue_ms_fn"((q."start_date")::timestamptz, (q."end_date")::timestamptz)
    END AS item_duration,
    (q."scheduled_start_date")::timestamptz AS item_due_at, s.updated_at AS item_token, q."app_server"::text AS item_owner, 
    CASE
        WHEN c.status = 'Processing'
            THEN COALESCE(
                CASE WHEN s.status = 'Processing' AND s.lease_owner = q."app_server"::text THEN s.lease_until END,
                /* Taken by somebody else: for as long as one of ours may hold it. */
                (q."start_date")::timestamptz + interval '1 millisecond' * COALESCE((
                    SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'fourqueuescheduler.leaseMs' AND a.val_int > 0
                ), 600000)
            )
    END AS item_lease_until,
    CASE
        WHEN c.status IN ('Pending', 'Error') AND s.status IN ('Pending', 'Error') THEN s.lease_until
    END AS item_died_at,
    q."reputation" AS "reputation", q."id" AS "id"
FROM "public"."four_queue" AS q
LEFT JOIN "readpast"."four_queue_scheduler_lease" AS s ON s.key_1 = q."id"
CROSS JOIN LATERAL (
    SELECT
        CASE
            WHEN q."in_process" = FALSE
                THEN CASE
                    WHEN
                        s.status IN ('Pending', 'Error')
                        THEN s.status::text
                    ELSE 'Pending'
                END
            WHEN q."in_process" = TRUE AND q."end_date" IS NULL
                THEN CASE
                    WHEN
                        s.status IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                        THEN s.status::text
                    ELSE 'Processing'
                END
            WHEN q."in_process" = TRUE AND q."end_date" IS NOT NULL
                THEN 'Completed'
            ELSE 'Processing'
        END AS status
) AS c;

/* All that a worker may see of four_queue_scheduler. */
CREATE OR REPLACE VIEW "readpast"."worker_four_queue_scheduler_v" AS
SELECT
    v."reputation" AS "reputation", v."id" AS "id", v.item_status AS item_status, v.item_step AS item_step, v.item_attempt AS item_attempt,
    v.item_response AS item_response, v.item_error AS item_error, v.item_started_at AS item_started_at, v.item_duration AS item_duration,
    v.item_due_at AS item_due_at, v.item_token AS item_token, v.item_owner AS item_owner, v.item_lease_until AS item_lease_until
FROM "readpast"."four_queue_scheduler_item_v" AS v;
