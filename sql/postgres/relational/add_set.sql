{%- set item_text = "items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step, due (UTC)\nor delay_ms." -%}
{%- set function = object("add_" ~ queue ~ "_set_utx") -%}
DROP FUNCTION IF EXISTS {{ function }}(json);
GO
/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
{{ item_text }}
One row per element: its position, key and token. A key that is taken (the clock was set back) is a unique violation:
try again.
Table access order: {{ queue }}.
*/
CREATE FUNCTION {{ function }}(items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'add_{{ queue }}_set_utx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

{% include "relational/_add.sql" %}
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(json) FROM public;
GO
{%- set function = object("add_" ~ queue ~ "_set_trx") %}
DROP FUNCTION IF EXISTS {{ function }}(uuid, json);
GO
/*
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
{{ item_text }}
One row per element: its position, key and token.
Table access order: queue_operation, {{ queue }}.
*/
CREATE FUNCTION {{ function }}(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
{% include "relational/_remember.sql" %}
    IF NOT FOUND THEN
        RETURN QUERY
        SELECT 'OK', (r.position - 1)::integer, NULL::bigint, r.key, p.at, 0, 'Pending'
        FROM {{ object("queue_operation") }} AS p
        CROSS JOIN LATERAL (
            SELECT e.value::timestamptz AS key, e.ordinality AS position
            FROM json_array_elements_text(p.result) WITH ORDINALITY AS e (value, ordinality)
        ) AS r
        WHERE p.operation_id = operation_
        ORDER BY r.position;
        RETURN;
    END IF;

{% include "relational/_forget.sql" %}
    RETURN QUERY
    WITH added AS MATERIALIZED (
        SELECT a.answer_ordinal AS ordinal, a.answer_key AS key, a.answer_token AS token
        FROM {{ object("add_" ~ queue ~ "_set_utx") }}(items_) AS a
    ),

    remembered AS (
        UPDATE {{ object("queue_operation") }} AS p
        SET result = (SELECT json_agg(a.key ORDER BY a.ordinal) FROM added AS a)
        WHERE p.operation_id = operation_
    )

    SELECT 'OK', a.ordinal, NULL::bigint, a.key, a.token, 0, 'Pending'
    FROM added AS a
    ORDER BY a.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(uuid, json) FROM public;
GO
