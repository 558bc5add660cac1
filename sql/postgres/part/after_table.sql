{% filter made("FUNCTION", "ended_" ~ queue) %}
/*
Lets go of the items that wait for those that a statement has ended or deleted: one of a worker, of an operator, or by hand.
Called by the triggers of {{ table_name }}.
Table access order: {{ queue }}_after, and as release_{{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ object("ended_" ~ queue) }}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    keys_ timestamptz[];
    states_ text[];
BEGIN
    /* release_{{ queue }} goes on by itself with the items that it ends. */
    IF current_setting('readpast.releases', TRUE) = 'on' THEN
        RETURN NULL;
    END IF;

    SELECT ARRAY_AGG(e.enqueued_at), ARRAY_AGG(e.status)
    INTO keys_, states_
    FROM (
        SELECT
            o.enqueued_at,
            CASE
                WHEN TG_OP = 'UPDATE' OR {{ object("queue_is_finished_fn") }}(o.status) THEN o.status::text
                /* {{ "Gone before it was done." if completion == "keep" else "Completed items leave the table." }} */
                ELSE '{{ "Cancelled" if completion == "keep" else "Completed" }}'
            END AS status
        FROM ended AS o
        WHERE
            (TG_OP = 'DELETE' OR {{ object("queue_is_finished_fn") }}(o.status))
            AND (
                EXISTS (SELECT 1 FROM {{ object(queue ~ "_after") }} AS a WHERE a.parent = o.enqueued_at AND a.outcome IS NULL)
                OR EXISTS (SELECT 1 FROM {{ object(queue ~ "_after") }} AS a WHERE a.item = o.enqueued_at AND (a.outcome IS NULL OR TG_OP = 'DELETE'))
            )
    ) AS e;
    IF keys_ IS NULL THEN
        RETURN NULL;
    END IF;

    PERFORM {{ object("release_" ~ queue) }}(keys_, states_, TG_OP = 'DELETE');
    IF TG_OP = 'DELETE' THEN
        DELETE FROM {{ object(queue ~ "_after") }} AS a WHERE a.item = ANY(keys_);
    END IF;
    RETURN NULL;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("ended_" ~ queue) }}() FROM public;
{% endfilter %}
