/* PostgreSQL counts no processor time by session; a session at work is `running` among the waits. */
SELECT
    NULL::bigint AS processors,
    NULL::bigint AS ms
WHERE ?::text IS NULL
