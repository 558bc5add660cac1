{%- set item_text = "items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,\ndue (UTC) or delay_ms." -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "add_" ~ queue ~ "_set_" ~ transaction -%}
{%- set function = object(procedure) -%}
/*
{%- if transaction == "utx" %}
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
{%- else %}
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
{%- endif %}
{{ item_text }}
One row per element: its position, key and token.
{%- if dedup %}
DUPLICATE where the same work is there already, with {{ "the key of that item" if dedup.existing else "no key" }}.
{%- endif %}
Table access order: {{ "queue_operation, " if transaction == "trx" }}{{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}({{ "operation_ uuid, " if transaction == "trx" }}items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    item_ record;
    list_ json[] := '{}';
    answers_ json;
{%- if transaction == "trx" %}
    replayed_ boolean := FALSE;
{%- endif %}
{%- if dedup %}
    key_ text;
{%- endif %}
{%- for column in key %}
    new_{{ loop.index }}_ {{ key_types[loop.index0] }};
{%- endfor %}
BEGIN
{%- include "adopted/_local_time.sql" %}
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;
{% if transaction == "trx" %}
{% include "relational/_remember.sql" %}
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{% include "relational/_forget.sql" %}
{%- endif %}
{%- if dedup %}
    /* One call at a time looks whether the same work is there, and adds what is not. */
    PERFORM pg_advisory_xact_lock(hashtextextended({{ text("readpast/add/" ~ schema ~ "." ~ queue) }}, 0));
{%- endif %}
{% include "adopted/_add.sql" %}
    answers_ := array_to_json(list_);
{%- if transaction == "trx" %}
{% include "adopted/_keep_answers.sql" %}
    END IF;
{%- endif %}

    RETURN QUERY
    SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
    FROM {% include "adopted/_answers_again.sql" %}
    ORDER BY a.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}({{ "uuid, " if transaction == "trx" }}json) FROM public;
GO
{% endfor -%}
{%- include "adopted/_add_one.sql" %}
