{#- The functions that wake those who hold the items of a settlement, and those who wait for them. -#}
{%- macro keys() %}
        SELECT
{{- m.key_read("i.key") }}
        FROM json_to_recordset(items_) AS i (key {{ m.key_given() }})
{%- endmacro -%}
{% filter made("FUNCTION", "ring_holders_" ~ queue) %}
/*
Items may be taken from the workers that hold them: those renew their leases then, and so learn it. They listen to the schema's
channel; the end of a holder's name, which is a random number, lets others stay as they are. Called by {{ procedure }}.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ object("ring_holders_" ~ queue) }}(items_ json) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    IF NOT {{ object("queue_may_ring_fn") }}() THEN RETURN;
    END IF;
    PERFORM pg_notify({{ text(schema_name) }}, '{{ queue }} ' || RIGHT(v.item_owner, 16))
    FROM (
{{- keys() }}
    ) AS i
    INNER JOIN LATERAL (
        {{ m.found("i.key_", ["status", "owner"], lock="") | indent(8) }}
    ) AS v ON TRUE
    WHERE v.item_status = 'Processing';
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("ring_holders_" ~ queue) }}(json) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "ring_waiters_" ~ queue) %}
/*
Wakes the processes that wait for the ends of these items, which have been settled. Called by {{ procedure }}, if somebody waits.
Table access order: queue_awaited, passing over what others hold.
*/
CREATE OR REPLACE FUNCTION {{ object("ring_waiters_" ~ queue) }}(items_ json) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    PERFORM {{ object("queue_ring_waiters") }}('{{ queue }}', ARRAY(
        SELECT {{ object("queue_key_fn") ~ "(k.key_1) || '0'" if own else m.key_text("k.key_") }}
        FROM (
{{- keys() | indent(4) }}
        ) AS k
    ));
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("ring_waiters_" ~ queue) }}(json) FROM public;
{% endfilter %}
