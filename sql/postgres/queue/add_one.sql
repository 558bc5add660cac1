{%- import "macro/item.sql" as m -%}
{%- import "macro/column.sql" as of -%}
{%- set given = columns if own else inserted | selectattr("is_given") | list -%}
{%- set signature %}
{%- filter listed(4) %}text{% for column in given %}, {{ column.type }}{% endfor %}{% for subtype in subtypes %}, json{% endfor %}, timestamptz, text{% endfilter %}
{% endset -%}
{%- set due_given = "scheduled_for_" if own else "due_" -%}
{#- Whether an item is one row, whose key its number gives. -#}
{%- set is_plain = own and not dedup and not after and not group and not subtypes -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "add_" ~ queue ~ "_" ~ transaction -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Enqueue one item{{ ", with the caller's other work" if transaction == "utx" }}. Returns its key and its concurrency token.
{%- if dedup %}
For work that is there already it returns {{ "that item's key" if dedup.existing else "no key" }}, and no token.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ "; queue_sleeper, passing over what others hold" if is_plain }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
{%- filter listed(4) %}type_ text DEFAULT {{ text(types[0]) }}
{%- for column in given %}, {{ column.parameter }} {{ column.type }} DEFAULT {{ column.default or "NULL" }}{% endfor %}
{%- for subtype in subtypes %}, {{ subtype.parameter }} json DEFAULT NULL{% endfor %}
    {{- ", " ~ due_given }} timestamptz DEFAULT NULL, step_ text DEFAULT NULL
{%- endfilter %}
)
RETURNS TABLE ({{ "enqueued_at timestamptz, updated_at" if own else "item_key text, item_token" }} timestamptz)
{%- if is_plain and transaction == "trx" %}
{% include "part/same_as_trx.sql" %}
AS $$
    SELECT a.*
    FROM {{ object("add_" ~ queue ~ "_utx") }}(
        {%- filter listed(8) %}type_{% for column in given %}, {{ column.parameter }}{% endfor %}, scheduled_for_, step_{% endfilter %}
    ) AS a;
$$;
{%- else %}
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'{{ " SET enable_seqscan = off" if is_plain }}
AS $$
{%- if is_plain %}
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- endif %}
BEGIN
{%- if is_plain %}
    /*
    An item that fits goes in at once. The function for many names what is wrong with any other; it also finds another key where
    this one is taken.
    */
    IF
        (type_ IN ({% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %})) IS NOT FALSE
        AND ({% if steps %}step_ IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %}){% else %}char_length(step_) <= 60{% endif %}) IS NOT FALSE
        AND {{ of.is_written("scheduled_for_") }}
{%- for column in columns %}{{ of.fits(column) }}{% endfor %}
    THEN
        RETURN QUERY
        INSERT INTO {{ table }} AS q (
{%- filter listed(12) %}enqueued_at, type, status, step, attempt_num, scheduled_for, updated_at{% for column in columns %}, {{ column.quoted }}{% endfor %}{% endfilter %}
        )
        VALUES (
            date_bin('10 milliseconds', now_, timestamptz 'epoch')
            + nextval({{ literal(queue ~ "_seq") }}) % 10000 * interval '1 microsecond',
{%- filter listed(12) %}COALESCE(type_, {{ text(types[0]) }}), 'Pending', {{ "COALESCE(step_, " ~ text(steps[0]) ~ ")" if steps else "step_" }}, 0, COALESCE(scheduled_for_, now_), now_{% for column in columns %}, {{ column.parameter }}{% endfor %}{% endfilter %}
        )
        ON CONFLICT (enqueued_at) DO NOTHING
        RETURNING q.enqueued_at, q.updated_at;
        IF FOUND THEN
            PERFORM {{ object("queue_ring") }}('{{ queue }}')
            WHERE EXISTS (SELECT 1 FROM {{ object("queue_sleeper") }} AS z WHERE z.queue = '{{ queue }}');
            RETURN;
        END IF;
    END IF;
{%- endif %}
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM {{ object("add_" ~ queue ~ "_set_trx") }}(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', {{ due_given }}, 'step', step_,
            'columns', json_build_object(
{%- filter listed(16) %}
{%- for column in given %}{{ text(column.name) }}, {{ "encode(" ~ column.parameter ~ ", 'base64')" if column.is_binary else column.parameter }}{{ ", " if not loop.last or subtypes }}{% endfor %}
{%- for subtype in subtypes %}{{ text(subtype.name) }}, {{ subtype.parameter }}{{ ", " if not loop.last }}{% endfor %}
{%- endfilter %}
            )
        ))
    ) AS a;
END;
$$;
{%- endif %}
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}({{ signature }}) FROM public;
{% endfilter %}
{% endfor %}
