{%- set function = object("renew_" ~ queue ~ "_set_trx") -%}
DROP FUNCTION IF EXISTS {{ function }}(text, json, integer);
GO
/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: {{ queue }}.
*/
CREATE FUNCTION {{ function }}(worker_ text, items_ json, lease_ms_ integer DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    max_attempts_ integer;
BEGIN
{% include "relational/_settings.sql" %}
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'renew_{{ queue }}_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
    ),

    locked AS MATERIALIZED (
        SELECT q.*
        FROM item AS i
        INNER JOIN {{ object(queue) }} AS q
            ON q.enqueued_at = i.key
        ORDER BY i.key
        FOR UPDATE OF q
    ),

    renewed AS (
        UPDATE {{ object(queue) }} AS q
        SET lease_until = clock_timestamp() + lease_ms_ * interval '1 millisecond'
        FROM item AS i
        INNER JOIN locked AS l
            ON l.enqueued_at = i.key
        WHERE
            q.enqueued_at = i.key
            AND l.status = 'Processing'
            AND l.lease_owner = worker_
            AND l.attempt_num = i.attempt
    )

    SELECT DISTINCT ON (i.ordinal)
        CASE
            WHEN q.enqueued_at IS NULL THEN 'NOT_FOUND'
            WHEN q.status = 'Processing' AND q.lease_owner = worker_ AND q.attempt_num = i.attempt THEN 'OK'
            ELSE 'LEASE_LOST'
        END,
        i.ordinal, NULL::bigint, i.key, q.updated_at, q.attempt_num, q.status::text
    FROM item AS i
    LEFT JOIN locked AS q
        ON q.enqueued_at = i.key
    ORDER BY i.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(text, json, integer) FROM public;
GO
