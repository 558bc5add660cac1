/*
In a database of Citus, whether the schema is sharded by it. What is made in another schema stays on this node; Citus would have it made on
all nodes, and refuse to where this is not its coordinator.
*/
DO $$
DECLARE
    schema_ CONSTANT oid := (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname::text = {{ text(schema_name) }});
    is_sharded_ boolean := FALSE;
BEGIN
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_extension AS e WHERE e.extname = 'citus') THEN
        IF schema_ IS NULL THEN
            is_sharded_ := COALESCE(current_setting('citus.enable_schema_based_sharding', TRUE) = 'on', FALSE);
        ELSIF TO_REGCLASS('pg_catalog.pg_dist_schema') IS NOT NULL THEN
            EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_schema AS s WHERE s.schemaid = $1)' INTO is_sharded_ USING schema_;
        END IF;
        IF NOT is_sharded_ THEN
            SET LOCAL citus.enable_ddl_propagation = off;
        END IF;
    END IF;
    PERFORM set_config('readpast.is_sharded', CASE WHEN is_sharded_ THEN 'on' ELSE 'off' END, TRUE);
END;
$$
