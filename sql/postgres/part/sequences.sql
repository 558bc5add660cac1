{% filter statement %}
/* Citus makes a sequence on its other nodes as the default of a column; it stays when the default goes. */
DO $$
DECLARE
    sequence_ text;
BEGIN
    IF {{ m.is_sharded() }} THEN
        FOREACH sequence_ IN ARRAY ARRAY[{{ literal(queue ~ "_seq") }}{{ ", " ~ literal(queue ~ "_shard_turn") if shards }}]
        LOOP
            IF NOT EXISTS (
                SELECT 1
                FROM pg_catalog.pg_dist_object AS o
                WHERE o.classid = 'pg_catalog.pg_class'::regclass AND o.objid = sequence_::regclass
            )
            THEN
                EXECUTE 'ALTER TABLE {{ table | replace("'", "''") }} ALTER COLUMN claim_num SET DEFAULT nextval(' || quote_literal(sequence_) || ')';
                ALTER TABLE {{ table }} ALTER COLUMN claim_num DROP DEFAULT;
            END IF;
        END LOOP;
    END IF;
END;
$$;
{% endfilter %}
