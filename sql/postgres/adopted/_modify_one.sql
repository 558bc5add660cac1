{%- set function = object("modify_" ~ queue ~ "_trx") -%}
{%- set signature = "\n    text, timestamptz, text, text, text, text, timestamptz, text, integer\n" -%}
/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (RP023), the transition is not legal (RP024), the item is not there (RP025),
or worker_ and attempt_num_ no longer hold its lease (RP026). Returns the item as it is now, where it is still there.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: {{ table_name }}, {{ queue }}_lease, queue_transition.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    key_ text,
    token_ timestamptz,
    status_ text,
    step_ text DEFAULT NULL,
    response_ text DEFAULT NULL,
    error_ text DEFAULT NULL,
    due_ timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL,
    attempt_num_ integer DEFAULT NULL
)
RETURNS SETOF {{ object("worker_" ~ queue ~ "_v") }}
{% include "relational/_attributes.sql" %}
AS $$
DECLARE
    result_ record;
BEGIN
    SELECT m.answer, m.answer_status AS status
    INTO result_
    FROM {{ object("modify_" ~ queue ~ "_set_trx") }}(
        NULL,
        COALESCE(worker_, session_user || '/' || pg_backend_pid()),
        json_build_array(json_build_object(
            'key', key_, 'token', token_, 'attempt', attempt_num_, 'status', status_, 'step', step_,
            'response', response_, 'error', error_, 'due', due_
        ))
    ) AS m;

    IF result_.answer <> 'OK' THEN
        RAISE EXCEPTION 'modify_{{ queue }}_trx: %; the item is %, asked for was %',
            result_.answer, COALESCE(result_.status, 'not there'), status_
        USING ERRCODE = CASE result_.answer
            WHEN 'CONFLICT' THEN 'RP023'
            WHEN 'ILLEGAL_TRANSITION' THEN 'RP024'
            WHEN 'NOT_FOUND' THEN 'RP025'
            ELSE 'RP026'
        END;
    END IF;

    RETURN QUERY
    SELECT
{%- for column in columns %}
        v.{{ column.shown }},
{%- endfor %}
{%- for column in own_keys %}
        v.{{ column.shown }},
{%- endfor %}
{%- if role.kind %}
        v.item_type,
{%- endif %}
        v.item_status, v.item_step, v.item_attempt, v.item_response, v.item_error, v.item_started_at, v.item_duration,
        v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
    FROM (
        SELECT
{%- set from = "key_" %}
{%- include "adopted/_key_read.sql" %}
    ) AS k
    INNER JOIN LATERAL (
        {% set of = "k.key_" %}{% include "adopted/_view_at_key.sql" %}
    ) AS v
        ON TRUE;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}({{ signature }}) FROM public;
GO
