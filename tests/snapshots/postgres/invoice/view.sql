/* All that a worker may see of invoice. */
CREATE OR REPLACE VIEW "readpast"."worker_invoice_v" AS
SELECT
    q.enqueued_at AS enqueued_at, q.type::text AS type, q.status::text AS status, q.step AS step, q.attempt_num AS attempt_num,
    q.response AS response, q.error AS error, q.started_at AS started_at, q.duration AS duration, q.scheduled_for AS scheduled_for,
    q.updated_at AS updated_at, q.lease_owner AS lease_owner, q.lease_until AS lease_until, q."Number" AS "Number",
    q."CustomerID" AS "CustomerID", q."Amount" AS "Amount", q."Code" AS "Code", q."Lines" AS "Lines"
FROM "readpast"."invoice" AS q;
