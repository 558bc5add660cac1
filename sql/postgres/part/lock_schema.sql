/*
Two installs at once take turns, at a table that nobody else can lock: for a minute. Where it is not there yet, they do at the
advisory lock before this, which any login could keep.
*/
DO $$
DECLARE
    before_ CONSTANT text := pg_catalog.current_setting('lock_timeout');
BEGIN
    IF {% include "part/is_there.sql" %} THEN
        SET LOCAL lock_timeout = 60000;
        LOCK TABLE {{ object("queue_schema_version") }} IN SHARE ROW EXCLUSIVE MODE;
        PERFORM pg_catalog.set_config('lock_timeout', before_, TRUE);
    END IF;
END;
$$
