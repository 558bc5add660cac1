/* How many rows came, went and changed, and how many dead ones nothing has removed, by the server's own figures. */
SELECT
    s.schemaname::text AS schema, s.relname::text AS name, s.n_tup_ins AS inserted, s.n_tup_del AS deleted, s.n_tup_upd AS updated,
    s.n_dead_tup AS dead
FROM pg_catalog.pg_stat_user_tables AS s
WHERE s.n_tup_ins + s.n_tup_del + s.n_tup_upd > 0
