/* invoice: the items. A row is both a domain record and a work item. */
DO $$
BEGIN
    IF TO_REGTYPE('"readpast"."invoice_type"') IS NULL THEN
        CREATE DOMAIN "readpast"."invoice_type" AS text;
    END IF;
END;
$$;

/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
ALTER DOMAIN "readpast"."invoice_type" DROP CONSTRAINT IF EXISTS invoice_is_discriminated;

ALTER DOMAIN "readpast"."invoice_type" ADD CONSTRAINT invoice_is_discriminated CHECK (VALUE IN ('Default')) NOT VALID;

/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
CREATE SEQUENCE IF NOT EXISTS "readpast"."invoice_seq" AS bigint CACHE 1;

CREATE TABLE IF NOT EXISTS "readpast"."invoice" (
    enqueued_at timestamptz NOT NULL, type "readpast"."invoice_type" NOT NULL, status "readpast"."queue_state" NOT NULL, step text NULL,
    attempt_num integer NOT NULL, response text NULL DEFAULT '', error text NULL DEFAULT '', started_at timestamptz NULL,
    duration bigint NULL, scheduled_for timestamptz NOT NULL, updated_at timestamptz NOT NULL, lease_owner text NULL,
    lease_until timestamptz NULL,
    /* By which claim it was taken, for whoever lost the answer to that. Below zero: it goes alone. */
    claim_num bigint NULL, "Number" varchar(20) NOT NULL, "CustomerID" bigint NULL, "Amount" numeric(12, 2) NULL DEFAULT '0',
    "Code" "dbo"."otpcode" NULL DEFAULT 'none', "Lines" json NULL DEFAULT '[]',
    CONSTRAINT "invoice_CustomerID_fkey"
        FOREIGN KEY ("CustomerID") REFERENCES "dbo"."customers" ("id"),
    CONSTRAINT "invoice_Amount_check"
        CHECK ("Amount" >= 0),
    CONSTRAINT invoice_pk PRIMARY KEY (enqueued_at)
)
/* Room on each page keeps renewals on it; finished versions are cleared before they slow the claim down. */
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

/* Completed items are moved here. */
CREATE TABLE IF NOT EXISTS "readpast"."Invoice_History" (
    enqueued_at timestamptz NOT NULL, type text NOT NULL, status text NOT NULL, step text NULL, attempt_num integer NOT NULL,
    response text NULL, error text NULL, started_at timestamptz NULL, duration bigint NULL, scheduled_for timestamptz NOT NULL,
    updated_at timestamptz NOT NULL, lease_owner text NULL, lease_until timestamptz NULL, "Number" varchar(20) NOT NULL,
    "CustomerID" bigint NULL, "Amount" numeric(12, 2) NULL, "Code" "dbo"."otpcode" NULL, "Lines" json NULL, PRIMARY KEY (enqueued_at)
);

/* A table of an earlier state has no place yet for the number of a claim. */
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = '"readpast"."invoice"'::regclass AND a.attname = 'claim_num' AND NOT a.attisdropped
    )
    THEN
        ALTER TABLE "readpast"."invoice" ADD COLUMN claim_num bigint NULL;
    END IF;
END;
$$;

/*
The claim seeks here in the order it takes. What is finished or in flight is not in it, so it stays as small as the
backlog.
*/
CREATE INDEX IF NOT EXISTS invoice_due ON "readpast"."invoice" (scheduled_for, enqueued_at)
WHERE status IN ('Pending', 'Error');

/* Recovery walks the items in flight, oldest claim first. The lease is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS invoice_in_flight ON "readpast"."invoice" (started_at)
WHERE status = 'Processing';

/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
CREATE INDEX IF NOT EXISTS invoice_ended ON "readpast"."invoice" (enqueued_at)
WHERE status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted');

/* When the items of its dead workers were last looked for. */
INSERT INTO "readpast"."queue_recovery" (queue, recovered_at) VALUES ('invoice', '-infinity')
ON CONFLICT DO NOTHING;
