/*
Values that four_queue has no column for. An item that no worker of readpast has touched has no row here, and a
row here never makes an item: four_queue says what there is to do. The key has the types that it has
there.
*/
CREATE TABLE IF NOT EXISTS "readpast"."four_queue_scheduler_lease" AS
SELECT q."id" AS key_1
FROM "public"."four_queue" AS q
WITH NO DATA;

ALTER TABLE "readpast"."four_queue_scheduler_lease"
    ALTER COLUMN key_1 SET NOT NULL, ADD COLUMN IF NOT EXISTS status "readpast"."queue_state" NOT NULL,
    ADD COLUMN IF NOT EXISTS step text NULL, ADD COLUMN IF NOT EXISTS attempt_num integer NOT NULL,
    ADD COLUMN IF NOT EXISTS response text NULL, ADD COLUMN IF NOT EXISTS error text NULL,
    ADD COLUMN IF NOT EXISTS started_at timestamptz NULL, ADD COLUMN IF NOT EXISTS finished_at timestamptz NULL,
    ADD COLUMN IF NOT EXISTS duration bigint NULL, ADD COLUMN IF NOT EXISTS due_at timestamptz NULL,
    ADD COLUMN IF NOT EXISTS updated_at timestamptz NOT NULL, ADD COLUMN IF NOT EXISTS lease_owner text NULL,
    ADD COLUMN IF NOT EXISTS lease_until timestamptz NULL,
    /* By which claim it was taken, for whoever lost the answer to that. Below zero: it goes alone. */
    ADD COLUMN IF NOT EXISTS claim_num bigint NULL;

/* Room on each page keeps renewals on it. */
ALTER TABLE "readpast"."four_queue_scheduler_lease" SET (
    fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0
);

CREATE UNIQUE INDEX IF NOT EXISTS four_queue_scheduler_lease_pk ON "readpast"."four_queue_scheduler_lease" (key_1);

/* Recovery walks the items in flight, oldest claim first. lease_until is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS four_queue_scheduler_lease_in_flight ON "readpast"."four_queue_scheduler_lease" (started_at)
WHERE status = 'Processing';

/* Recovery walks the items in flight, oldest claim first. The lease is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS four_queue_scheduler_in_flight ON "public"."four_queue" ("start_date")
WHERE "in_process" = TRUE AND "end_date" IS NULL;

/* The row that its adds lock in turn. */
INSERT INTO "readpast"."queue_turn" (queue) VALUES ('four_queue_scheduler add') ON CONFLICT DO NOTHING;

/* The same work is looked for here, unless an index of the table serves for that. */
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_index AS i
        WHERE
            i.indrelid = '"public"."four_queue"'::regclass AND i.indpred IS NULL AND i.indnkeyatts >= 1
            AND ARRAY(
                SELECT a.attname::text
                FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey[0:0])
            ) @> ARRAY['reputation']
    )
    THEN
        CREATE INDEX four_queue_scheduler_same ON "public"."four_queue" ("reputation");
    END IF;
END;
$$;

/* When the items of its dead workers were last looked for. */
INSERT INTO "readpast"."queue_recovery" (queue, recovered_at) VALUES ('four_queue_scheduler', '-infinity')
ON CONFLICT DO NOTHING;
