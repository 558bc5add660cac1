/* Facts about the server, the database and the session, each with a name. */
SELECT v.name, v.value
FROM (
    VALUES
    ('version', CURRENT_SETTING('server_version')),
    ('version_num', CURRENT_SETTING('server_version_num')),
    ('database', CURRENT_DATABASE()::text),
    ('encoding', CURRENT_SETTING('server_encoding')),
    ('in_recovery', PG_IS_IN_RECOVERY()::text),
    ('isolation_level', CURRENT_SETTING('transaction_isolation')),
    ('synchronous_commit', CURRENT_SETTING('synchronous_commit')),
    (
        'oldest_transaction_seconds',
        (
            SELECT MAX(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP() - a.xact_start))::bigint::text
            FROM pg_catalog.pg_stat_activity AS a
            WHERE a.datname = CURRENT_DATABASE()
        )
    ),
    ('login', SESSION_USER::text)
) AS v (name, value)
