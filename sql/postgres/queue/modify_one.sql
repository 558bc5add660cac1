{%- import "macro/item.sql" as m -%}
{%- set procedure = "modify_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{%- set answering = object("modify_" ~ queue ~ "_utx") -%}
{%- set the_key = "enqueued_at_" if own else "key_" -%}
{%- set signature = "\n    " ~ m.key_type() ~ ", timestamptz, text, text, text, text, timestamptz, text, integer, json\n" -%}
{% filter made("FUNCTION", "modify_" ~ queue ~ "_utx") %}
/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as modify_{{ queue }}_set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, queue_transition{% for subtype in subtypes %}, {{ queue ~ "_" ~ subtype.stem }}{% endfor %}{{ ", " ~ queue ~ "_attempt" if attempt_history }}{{ ", " ~ queue ~ "_progress" if reports_alone and completion != "keep" }}.
*/
CREATE OR REPLACE FUNCTION {{ answering }}(
    {{ the_key }} {{ m.key_type() }}, {{ "updated_at_" if own else "token_" }} timestamptz, status_ text, step_ text DEFAULT NULL,
    response_ text DEFAULT NULL, error_ text DEFAULT NULL, {{ "scheduled_for_" if own else "due_" }} timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL, attempt_num_ integer DEFAULT NULL, set_ json DEFAULT NULL
)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/same_as_trx.sql" %}
AS $$
    SELECT m.answer, m.answer_ordinal, m.answer_due_ms, m.answer_key, m.answer_token, m.answer_attempt, m.answer_status
    FROM {{ object("modify_" ~ queue ~ "_set_utx") }}(
        NULL, COALESCE(worker_, session_user || '/' || pg_backend_pid()),
        json_build_array(json_build_object(
            'key', {{ the_key }}{{ "::json" if composite }}, 'token', {{ "updated_at_" if own else "token_" }}, 'attempt', attempt_num_,
            'status', status_, 'step', step_, 'response', response_, 'error', error_,
            'due', {{ "scheduled_for_" if own else "due_" }}, 'set', set_
        ))
    ) AS m;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ answering }}({{ signature }}) FROM public;
{% endfilter %}
{% filter made("FUNCTION", procedure) %}
/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (RP023), the transition is not legal (RP024), the item is not there (RP025),
or worker_ and attempt_num_ no longer hold its lease (RP026). Returns the item as it is now, where it is still there.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, queue_transition{% for subtype in subtypes %}, {{ queue ~ "_" ~ subtype.stem }}{% endfor %}{{ ", " ~ queue ~ "_attempt" if attempt_history }}{{ ", " ~ queue ~ "_progress" if reports_alone and completion != "keep" }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    {{ the_key }} {{ m.key_type() }}, {{ "updated_at_" if own else "token_" }} timestamptz, status_ text, step_ text DEFAULT NULL,
    response_ text DEFAULT NULL, error_ text DEFAULT NULL, {{ "scheduled_for_" if own else "due_" }} timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL, attempt_num_ integer DEFAULT NULL, set_ json DEFAULT NULL
)
RETURNS SETOF {{ object("worker_" ~ queue ~ "_v") }}
{% include "part/attributes.sql" %}
AS $$
DECLARE
    result_ record;
BEGIN
    SELECT m.answer, m.answer_status AS status
    INTO result_
    FROM {{ answering }}(
        {{ the_key }}, {{ "updated_at_" if own else "token_" }}, status_, step_, response_, error_, {{ "scheduled_for_" if own else "due_" }}, worker_, attempt_num_, set_
    ) AS m;

    IF result_.answer <> 'OK' THEN
        RAISE EXCEPTION 'modify_{{ queue }}_trx: %; the item is %, asked for was %',
            result_.answer, COALESCE(result_.status, 'not there'), {{ "concat_ws(' at step ', status_, step_)" if steps else "status_" }}
        USING ERRCODE = CASE result_.answer
            WHEN 'CONFLICT' THEN 'RP023'
            WHEN 'ILLEGAL_TRANSITION' THEN 'RP024'
            WHEN 'NOT_FOUND' THEN 'RP025'
            ELSE 'RP026'
        END;
    END IF;

    RETURN QUERY
{%- if beside %}
    SELECT
{{- m.item_of_view(false) | listed(12) }}
    FROM (
        SELECT
{{- m.key_read(m.key_from_text(the_key)) }}
    ) AS k
    INNER JOIN LATERAL (
        {{ m.found("k.key_", "shown") | indent(8) }}
    ) AS v ON TRUE;
{%- else %}
    SELECT v.*
    FROM (
        SELECT
{{- m.key_read(m.key_from_text(the_key)) }}
    ) AS k
    INNER JOIN {{ object("worker_" ~ queue ~ "_v") }} AS v
        ON {% for column in key %}{{ "AND " if not loop.first }}v.{{ column.shown }} BETWEEN k.key_{{ loop.index }} AND k.key_{{ loop.index }}{{ " " if not loop.last }}{% endfor %};
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}({{ signature }}) FROM public;
{% endfilter %}
