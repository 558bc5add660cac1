{%- set function = object("purge_" ~ queue ~ "_trx") -%}
{%- set procedure = "purge_" ~ queue ~ "_trx" -%}
/*
Delete up to max_ finished items that fit filter_, oldest key first. filter_ is that of find_{{ queue }}; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
{% include "relational/_filter_variables.sql" %}
BEGIN
{% include "relational/_filter.sql" %}
    statuses_ := COALESCE(statuses_, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT {{ object("queue_is_finished_fn") }}(s.status)
    )
    THEN
        RAISE EXCEPTION '{{ procedure }}: only finished items can be purged; cancel or terminate the others'
        USING ERRCODE = 'RP021';
    END IF;

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at
        FROM {{ object(queue) }} AS q
        WHERE
            (keys_ IS NULL OR q.enqueued_at = ANY(keys_))
{% include "relational/_fits.sql" %}
        ORDER BY q.enqueued_at
        LIMIT max_
        FOR UPDATE SKIP LOCKED
    ),

    purged AS (
        DELETE FROM {{ object(queue) }} AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE q.enqueued_at BETWEEN f.enqueued_at AND f.enqueued_at
        RETURNING 1 AS one
    )

    SELECT 'purged', COUNT(*) FROM purged;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(json, integer) FROM public;
GO
