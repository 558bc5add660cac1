/* Facts about the server, the database and the session, each with a name. */
SELECT v.name, v.value
FROM (
    VALUES
    ('version', CURRENT_SETTING('server_version')), ('version_num', CURRENT_SETTING('server_version_num')),
    ('database', CURRENT_DATABASE()::text), ('encoding', CURRENT_SETTING('server_encoding')),
    ('in_recovery', PG_IS_IN_RECOVERY()::text), ('isolation_level', CURRENT_SETTING('transaction_isolation')),
    ('synchronous_commit', CURRENT_SETTING('synchronous_commit')), ('login', SESSION_USER::text),
    ('citus', (SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'citus'))
) AS v (name, value)
