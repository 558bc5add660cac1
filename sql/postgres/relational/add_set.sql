{%- set item_text = "items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,\ndue (UTC) or delay_ms." -%}
{%- set answers = "One row per element: its position, key and token." -%}
{%- if dedup -%}
{%- set answers = answers ~ " DUPLICATE where the same work is there already,\nwith " ~ ("the key of that item" if dedup.existing else "no key") ~ " and without a token." -%}
{%- endif -%}
{%- if subtypes -%}
{%- set item_text = item_text ~ " What a subtype has is an\nobject among the columns, by the subtype's name." -%}
{%- endif -%}
{%- set function = object("add_" ~ queue ~ "_set_utx") -%}
/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
{{ item_text }}
{{ answers }} A key that is taken (the clock was set back) is a unique violation:
try again.
Table access order: {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- if dedup %}
    result_ json;
{%- endif %}
BEGIN
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'add_{{ queue }}_set_utx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;
{%- if dedup %}

{% include "relational/_add_unique.sql" %}

    RETURN QUERY
{% set at = "now_" -%}
{% include "relational/_unique_answers.sql" %}
{%- else %}

    RETURN QUERY
{% include "relational/_add.sql" %}
    SELECT 'OK', i.ordinal, NULL::bigint, i.key, now_, 0, 'Pending'
    FROM item AS i
    ORDER BY i.ordinal;
{%- endif %}
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(json) FROM public;
GO
{%- set function = object("add_" ~ queue ~ "_set_trx") %}
/*
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
{{ item_text }}
{{ answers }}
Table access order: queue_operation, {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
{%- if dedup %}
    at_ timestamptz;
    result_ json;
{%- endif %}
BEGIN
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'add_{{ queue }}_set_trx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

{% include "relational/_remember.sql" %}
    IF replayed_ THEN
{%- if dedup %}
        SELECT p.at, p.result
        INTO at_, result_
        FROM {{ object("queue_operation") }} AS p
        WHERE p.operation_id = operation_;

        RETURN QUERY
{% set at = "at_" -%}
{% include "relational/_unique_answers.sql" %}
{%- else %}
        RETURN QUERY
        SELECT 'OK', (r.position - 1)::integer, NULL::bigint, r.key, p.at, 0, 'Pending'
        FROM {{ object("queue_operation") }} AS p
        CROSS JOIN LATERAL (
            SELECT e.value::timestamptz AS key, e.ordinality AS position
            FROM json_array_elements_text(p.result) WITH ORDINALITY AS e (value, ordinality)
        ) AS r
        WHERE p.operation_id = operation_
        ORDER BY r.position;
{%- endif %}
        RETURN;
    END IF;

{% include "relational/_forget.sql" %}
    FOR attempt_ IN 1..5 LOOP
        BEGIN
{%- if dedup %}
{% include "relational/_add_unique.sql" %}

            UPDATE {{ object("queue_operation") }} AS p
            SET result = result_
            WHERE p.operation_id = operation_;

            RETURN QUERY
{% set at = "now_" -%}
{% include "relational/_unique_answers.sql" %}
{%- else %}
            RETURN QUERY
{% include "relational/_add.sql" %},

            remembered AS (
                UPDATE {{ object("queue_operation") }} AS p
                SET result = (SELECT json_agg(i.key ORDER BY i.ordinal) FROM item AS i)
                WHERE p.operation_id = operation_
            )

            SELECT 'OK', i.ordinal, NULL::bigint, i.key, now_, 0, 'Pending'
            FROM item AS i
            /* Counted, so that nothing is returned before all of them are in. */
            CROSS JOIN (SELECT COUNT(*) FROM added) AS a
            ORDER BY i.ordinal;
{%- endif %}
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            /* A key was taken (the clock was set back): the sequence has moved on, so the next keys differ. */
            IF attempt_ = 5 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(uuid, json) FROM public;
GO
