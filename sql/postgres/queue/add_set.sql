{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- import "macro/column.sql" as of -%}
{%- set procedure = "add_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set called_as = object("add_" ~ queue ~ "_set_utx") -%}
{% filter made("FUNCTION", procedure) %}
/*
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms{{ "; and after (an array of keys, and of places of earlier elements), on_failed" if after }}.{{ " What a subtype has is an\nobject among the columns, by the subtype's name." if subtypes }}
One row per element: its position, key and token. checked_by_ is the library's: the number of the description that it has
checked the items by, which spares the check where that is the one installed.
{%- if dedup %} DUPLICATE where the same work is there already,
with {{ "the key of that item" if dedup.existing else "no key" }} and without a token.
{%- if dedup.replaces %}
If that item waits, it gets the values of the new one{{ ", and its due time if that is later" if dedup.later else " and its due time" }}: DUPLICATE with its new token.
{%- endif %}
{%- endif %}
Table access order: queue_operation, {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", " ~ queue ~ "_after" if after }}; queue_sleeper, passing over what others hold.
*/
CREATE OR REPLACE FUNCTION {{ function }}(operation_ uuid, items_ json, checked_by_ text DEFAULT NULL)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- if dedup or after or not own %}
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
{%- elif dedup or after %}
    result_ json;
    at_ timestamptz;
{%- if dedup and dedup.replaces %}
    same_ json;
    count_ bigint;
{%- endif %}
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- check.takes(procedure, takes.add, number=takes.add.number) }}

{%- if dedup or after or not own %}
{% include "part/remember.sql" %}
    IF NOT replayed_ THEN
        PERFORM {{ object("queue_ring") }}('{{ queue }}')
        WHERE EXISTS (SELECT 1 FROM {{ object("queue_sleeper") }} AS z WHERE z.queue = '{{ queue }}');
    END IF;
{%- endif %}
{%- if own %}
{%- include "part/add_own.sql" %}
{%- else %}
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{%- if dedup %}
{{ m.one_adds(procedure) }}
{%- endif %}
{% include "part/add_each.sql" %}
    answers_ := array_to_json(list_);
{% include "part/keep_answers.sql" %}
    END IF;

    RETURN QUERY
    SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
    FROM {{ m.answers_again() }}
    ORDER BY a.ordinal;
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(uuid, json, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "add_" ~ queue ~ "_set_utx") %}
/*
{{ procedure }} by the name that says that the call is a part of the caller's transaction, as every call here is: the items
are there when that commits, together with its other work.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION {{ called_as }}(items_ json, operation_ uuid DEFAULT NULL, checked_by_ text DEFAULT NULL)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/same_as_trx.sql" %}
AS $$
    SELECT a.*
    FROM {{ function }}(operation_, items_, checked_by_) AS a;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ called_as }}(json, uuid, text) FROM public;
{% endfilter %}
