

/* A function whose parameters or results change is another function: the old ones go, and who may use them is kept. */
CREATE TEMPORARY TABLE readpast_kept_grant ON COMMIT DROP AS
SELECT g.kind, g.name, a.grantee, a.privilege_type, a.is_grantable
FROM (
    SELECT 'FUNCTION' AS kind, p.proname AS name, p.proowner AS owner, p.proacl AS acl
    FROM pg_proc AS p
    WHERE p.pronamespace = '"readpast"'::regnamespace
    UNION ALL
    SELECT 'VIEW' AS kind, c.relname AS name, c.relowner AS owner, c.relacl AS acl
    FROM pg_class AS c
    WHERE c.relnamespace = '"readpast"'::regnamespace AND c.relkind = 'v'
) AS g
CROSS JOIN LATERAL aclexplode(g.acl) AS a
WHERE
    a.grantee NOT IN (0, g.owner)
    AND (g.kind, g.name) IN (
        ('FUNCTION', 'purge_work_trx'), ('FUNCTION', 'redrive_work_set_trx'), ('FUNCTION', 'find_work'), ('FUNCTION', 'watch_work'),
        ('FUNCTION', 'stats_work'), ('FUNCTION', 'renew_work_set_trx'), ('FUNCTION', 'modify_work_trx'), ('FUNCTION', 'modify_work_utx'),
        ('FUNCTION', 'modify_work_set_utx'), ('FUNCTION', 'modify_work_set_trx'), ('FUNCTION', 'ring_waiters_work'),
        ('FUNCTION', 'ring_holders_work'), ('FUNCTION', 'claimed_work'), ('FUNCTION', 'due_work'), ('FUNCTION', 'next_work_utx'),
        ('FUNCTION', 'next_work_trx'), ('FUNCTION', 'next_work_set_trx'), ('FUNCTION', 'next_work_apart_trx'),
        ('FUNCTION', 'claim_work_trx'), ('FUNCTION', 'recover_work_trx'), ('FUNCTION', 'add_work_trx'), ('FUNCTION', 'add_work_utx'),
        ('FUNCTION', 'add_work_set_utx'), ('FUNCTION', 'add_work_set_trx'), ('VIEW', 'worker_work_v')
    );

DO $$
DECLARE
    function_ regprocedure;
BEGIN
    FOR function_ IN
        SELECT p.oid
        FROM pg_proc AS p
        WHERE
            p.pronamespace = '"readpast"'::regnamespace
            AND p.proname IN (
                'purge_work_trx', 'redrive_work_set_trx', 'find_work', 'watch_work', 'stats_work', 'renew_work_set_trx', 'modify_work_trx',
                'modify_work_utx', 'modify_work_set_utx', 'modify_work_set_trx', 'ring_waiters_work', 'ring_holders_work', 'claimed_work',
                'due_work', 'next_work_utx', 'next_work_trx', 'next_work_set_trx', 'next_work_apart_trx', 'claim_work_trx',
                'recover_work_trx', 'add_work_trx', 'add_work_utx', 'add_work_set_utx', 'add_work_set_trx'
            )
            /* A function that a constraint calls stays as it is. */
            AND NOT EXISTS (
                SELECT 1
                FROM pg_depend AS d
                WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid AND d.deptype = 'n'
            )
    LOOP
        EXECUTE 'DROP FUNCTION ' || function_;
    END LOOP;
END;
$$;

DROP VIEW IF EXISTS "readpast"."worker_work_v";

/* Made again below, in its new shape. */
DROP INDEX IF EXISTS "readpast"."work_due";

ALTER TABLE "readpast"."work" DROP CONSTRAINT IF EXISTS "work_Title_check";

ALTER TABLE "readpast"."work" ALTER COLUMN "Title" TYPE varchar(80);

ALTER TABLE "readpast"."work" ALTER COLUMN "Title" DROP NOT NULL;

ALTER TABLE "readpast"."work" ALTER COLUMN "Customer" DROP DEFAULT;

ALTER TABLE "readpast"."work" ALTER COLUMN "Customer" TYPE bigint;

/* New rows only: those that are there were enqueued without it, and stay as they are. */
ALTER TABLE "readpast"."work" ALTER COLUMN "Customer" SET DEFAULT '0';

ALTER TABLE "readpast"."work" ALTER COLUMN "Code" DROP DEFAULT;

ALTER TABLE "readpast"."work" ALTER COLUMN "Code" TYPE "dbo"."otpcode";

ALTER TABLE "readpast"."work" ALTER COLUMN "Code" DROP NOT NULL;

/* New rows only: those that are there were enqueued without it, and stay as they are. */
ALTER TABLE "readpast"."work" ALTER COLUMN "Code" SET DEFAULT 'b';

ALTER TABLE "readpast"."work" ADD COLUMN IF NOT EXISTS "Note" text NULL;

/* New rows only: those that are there were enqueued without it, and stay as they are. */
ALTER TABLE "readpast"."work" ALTER COLUMN "Note" SET DEFAULT 'n';

ALTER TABLE "readpast"."work" ADD COLUMN IF NOT EXISTS "Rank" integer NOT NULL DEFAULT '1';

/* Refused where a row that is there breaks it. */
ALTER TABLE "readpast"."work" ADD CONSTRAINT "work_Title_check"
CHECK (1 = 1);

/* Refused where a row that is there breaks it. */
ALTER TABLE "readpast"."work" ADD CONSTRAINT "work_Customer_fkey"
FOREIGN KEY ("Customer") REFERENCES "dbo"."customers" ("id");

