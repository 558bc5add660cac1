{%- set function = object("modify_" ~ queue ~ "_set_trx") -%}
/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_{{ queue }}_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
items claimed by the first call are left to their lease.
Table access order: queue_operation, {{ queue }}, queue_transition.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    operation_ uuid,
    worker_ text,
    items_ json,
    max_ integer DEFAULT 0,
    lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0
)
RETURNS TABLE (
{% include "relational/_answer_columns.sql" %}
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    max_attempts_ integer;
BEGIN
{% include "relational/_settings.sql" %}
    IF COALESCE(worker_, '') = '' THEN
        RAISE EXCEPTION 'modify_{{ queue }}_set_trx: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 0 OR max_ > 1000 THEN
        RAISE EXCEPTION 'modify_{{ queue }}_set_trx: max_ must be from 0 to 1000' USING ERRCODE = 'RP021';
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'modify_{{ queue }}_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'modify_{{ queue }}_set_trx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

{% include "relational/_remember.sql" %}
    IF replayed_ THEN
        RETURN QUERY
{%- if completion == "keep" %}
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint,
            i.key, q.updated_at, q.attempt_num, q.status::text,
{% include "relational/_no_item.sql" %}
        FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
{%- else %}
        /* What was completed has left the table: it was answered for like this. */
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint,
            i.key,
            CASE WHEN g.gone THEN GREATEST(p.at, i.token + interval '1 microsecond') ELSE q.updated_at END,
            CASE WHEN g.gone THEN COALESCE(i.attempt, 0) ELSE q.attempt_num END,
            CASE WHEN g.gone THEN 'Completed' ELSE q.status END,
{% include "relational/_no_item.sql" %}
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (key timestamptz, token timestamptz, attempt integer, status text)
            ) WITH ORDINALITY AS i (key, token, attempt, status, position)
{%- endif %}
        CROSS JOIN {{ object("queue_operation") }} AS p
        LEFT JOIN {{ object(queue) }} AS q
            ON q.enqueued_at = i.key
{%- if completion != "keep" %}
        CROSS JOIN LATERAL (
            SELECT
                q.enqueued_at IS NULL AND i.status = 'Completed' AND p.result ->> (i.position - 1)::text IS NULL AS gone
        ) AS g
{%- endif %}
        WHERE p.operation_id = operation_
        ORDER BY i.position;
        RETURN;
    END IF;

{% include "relational/_forget.sql" %}
    RETURN QUERY
{% include "relational/_modify.sql" %},

    /* Remembered for whoever asks again: what cannot be told from the items later. */
    remembered AS (
        UPDATE {{ object("queue_operation") }} AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            p.operation_id = operation_
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT
        d.answer, d.ordinal, NULL::bigint, d.key, d.token, d.attempt_num, d.status,
{% include "relational/_no_item.sql" %}
    FROM decided AS d
    ORDER BY d.ordinal;

    IF max_ > 0 THEN
        RETURN QUERY
        SELECT n.*
        FROM {{ object("next_" ~ queue ~ "_set_trx") }}(worker_, max_, lease_ms_, recover_) AS n;
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(uuid, text, json, integer, integer, integer) FROM public;
GO
