{%- import "part/macros.sql" as m -%}
{%- import "part/checks.sql" as check -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "add_" ~ queue ~ "_set_" ~ transaction -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
{%- if transaction == "utx" %}
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
{%- else %}
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
{%- endif %}
items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.{{ " What a subtype has is an\nobject among the columns, by the subtype's name." if subtypes }}
One row per element: its position, key and token.
{%- if dedup %} DUPLICATE where the same work is there already,
with {{ "the key of that item" if dedup.existing else "no key" }} and without a token.
{%- endif %}
{%- if own and transaction == "utx" %} A key that is taken (the clock was set back) is a unique violation:
try again.
{%- endif %}
Table access order: {{ "queue_operation, " if transaction == "trx" }}{{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}({{ "operation_ uuid, " if transaction == "trx" }}items_ json)
RETURNS TABLE ({{ m.answer_columns() }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- if transaction == "trx" %}
    replayed_ boolean := FALSE;
{%- endif %}
{%- if not own %}
    item_ record;
    list_ json[] := '{}';
    answers_ json;
{%- if dedup %}
    key_ text;
{%- endif %}
{%- for column in key %}
    new_{{ loop.index }}_ {{ key_types[loop.index0] }};
{%- endfor %}
{%- elif dedup %}
    result_ json;
{%- if transaction == "trx" %}
    at_ timestamptz;
{%- endif %}
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- check.checks(procedure, ["items"]) }}
{% if transaction == "trx" %}
{% include "part/remember.sql" %}
{%- endif %}
{%- if own %}
{%- if transaction == "utx" %}{% include "part/add_own_utx.sql" %}{% else %}{% include "part/add_own_trx.sql" %}{% endif %}
{%- else %}
{%- if transaction == "trx" %}
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{% include "part/forget.sql" %}
{%- endif %}
{%- if dedup %}
    /* One call at a time looks whether the same work is there, and adds what is not. */
    PERFORM pg_advisory_xact_lock(hashtextextended({{ text("readpast/add/" ~ schema ~ "." ~ queue) }}, 0));
{%- endif %}
{% include "part/add_each.sql" %}
    answers_ := array_to_json(list_);
{%- if transaction == "trx" %}
{% include "part/keep_answers.sql" %}
    END IF;
{%- endif %}

    RETURN QUERY
    SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
    FROM {{ m.answers_again() }}
    ORDER BY a.ordinal;
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}({{ "uuid, " if transaction == "trx" }}json) FROM public;
{% endfilter %}
{% endfor -%}
