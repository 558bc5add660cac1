/* notification: the items. A row is both a domain record and a work item. */
DO $$
BEGIN
    IF TO_REGTYPE('"readpast"."notification_type"') IS NULL THEN
        CREATE DOMAIN "readpast"."notification_type" AS text;
    END IF;
END;
$$;

/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
ALTER DOMAIN "readpast"."notification_type" DROP CONSTRAINT IF EXISTS notification_is_discriminated;

ALTER DOMAIN "readpast"."notification_type" ADD CONSTRAINT notification_is_discriminated CHECK (
    VALUE IN ('ResetPassword', 'Email', 'Sms')
) NOT VALID;

/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
CREATE SEQUENCE IF NOT EXISTS "readpast"."notification_seq" AS bigint CACHE 1;

CREATE TABLE IF NOT EXISTS "readpast"."notification" (
    enqueued_at timestamptz NOT NULL, type "readpast"."notification_type" NOT NULL, status "readpast"."queue_state" NOT NULL,
    step text NULL, attempt_num integer NOT NULL, response text NULL DEFAULT '', error text NULL DEFAULT '', started_at timestamptz NULL,
    duration bigint NULL, scheduled_for timestamptz NOT NULL, updated_at timestamptz NOT NULL, lease_owner text NULL,
    lease_until timestamptz NULL,
    /* By which claim it was taken, for whoever lost the answer to that. Below zero: it goes alone. */
    claim_num bigint NULL, CONSTRAINT notification_pk PRIMARY KEY (enqueued_at)
)
/* Room on each page keeps renewals on it; finished versions are cleared before they slow the claim down. */
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

/* A table of an earlier state has no place yet for the number of a claim. */
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = '"readpast"."notification"'::regclass AND a.attname = 'claim_num' AND NOT a.attisdropped
    )
    THEN
        ALTER TABLE "readpast"."notification" ADD COLUMN claim_num bigint NULL;
    END IF;
END;
$$;

/*
The claim seeks here in the order it takes. What is finished or in flight is not in it, so it stays as small as the
backlog.
*/
CREATE INDEX IF NOT EXISTS notification_due ON "readpast"."notification" (scheduled_for, enqueued_at)
WHERE status IN ('Pending', 'Error');

/* Recovery walks the items in flight, oldest claim first. The lease is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS notification_in_flight ON "readpast"."notification" (started_at)
WHERE status = 'Processing';

/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
CREATE INDEX IF NOT EXISTS notification_ended ON "readpast"."notification" (enqueued_at)
WHERE status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted');

/*
Whether this item is of this type: what the tables of the exclusive subtypes check.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."notification_is_type_fn"(enqueued_at_ timestamptz, type_ text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM "readpast"."notification" AS q WHERE q.enqueued_at = enqueued_at_ AND q.type = type_);
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."notification_is_type_fn"(timestamptz, text) FROM public;

/* What items of the type ResetPassword have besides, and no others. A row is a part of its item, and goes with it. */
CREATE TABLE IF NOT EXISTS "readpast"."notification_reset_password" (
    enqueued_at timestamptz NOT NULL, "OTP" varchar(16) NOT NULL, "UserID" integer NOT NULL, "Username" varchar(128) NOT NULL,
    CONSTRAINT notification_reset_password_pk PRIMARY KEY (enqueued_at),
    CONSTRAINT reset_password_is_notification
        FOREIGN KEY (enqueued_at) REFERENCES "readpast"."notification" (enqueued_at) ON DELETE CASCADE,
    CONSTRAINT reset_password_is_type_notification
        CHECK ("readpast"."notification_is_type_fn"(enqueued_at, 'ResetPassword'))
);

/* What some items have besides: any may. A row is a part of its item, and goes with it. */
CREATE TABLE IF NOT EXISTS "readpast"."notification_email" (
    enqueued_at timestamptz NOT NULL, "EmailTo" varchar(254) NOT NULL, "PreferredLanguage" varchar(60) NULL DEFAULT 'en',
    "Response" text NULL DEFAULT '', "Error" text NULL DEFAULT '', CONSTRAINT notification_email_pk PRIMARY KEY (enqueued_at),
    CONSTRAINT email_is_notification
        FOREIGN KEY (enqueued_at) REFERENCES "readpast"."notification" (enqueued_at) ON DELETE CASCADE
);

/* What some items have besides: any may. A row is a part of its item, and goes with it. */
CREATE TABLE IF NOT EXISTS "readpast"."notification_sms" (
    enqueued_at timestamptz NOT NULL, "PhoneNumber" varchar(20) NOT NULL, "Response" text NULL DEFAULT '', "Error" text NULL DEFAULT '',
    CONSTRAINT notification_sms_pk PRIMARY KEY (enqueued_at),
    CONSTRAINT sms_is_notification
        FOREIGN KEY (enqueued_at) REFERENCES "readpast"."notification" (enqueued_at) ON DELETE CASCADE
);

/* When the items of its dead workers were last looked for. */
INSERT INTO "readpast"."queue_recovery" (queue, recovered_at) VALUES ('notification', '-infinity')
ON CONFLICT DO NOTHING;
