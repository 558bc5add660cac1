{#-
Checks of a call, before anything is done: `asked` names what it has, `least` is the fewest items that may be; `attempts` is the name of
the setting that comes back, with what it is otherwise.
-#}
{%- macro checks(procedure, asked, least=1, attempts=none) %}
    {{ "max_attempts_ :=" if attempts else "PERFORM" }} {{ object("queue_terms") }}(
        '{{ procedure }}'
        {{- ", worker_" if "worker" in asked }}{{ (", " if "worker" in asked else ", most => ") ~ "max_" if "most" in asked }}
        {{- ", fewest => " ~ least if least != 1 }}{{ ", lease_ms => lease_ms_" if "lease" in asked }}
        {{- ", started_at => started_at_" if "started" in asked }}{{ ",\n        param_ => " ~ attempts[0] ~ ", otherwise => " ~ attempts[1] if attempts }}
    );
{%- endmacro -%}
{#-
Members that the elements of items_ may have, each with its type. The library has checked its own values, and says so in its sessions; but
it may know columns that are gone (`names`). That is looked at here, since a call costs as much.
-#}
{%- macro takes(procedure, members, within="", names=true) %}
    /* The library's items have been checked{{ "; but it may know columns that are gone" if names }}. */
    IF
        current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on' OR (CASE json_typeof(items_) WHEN 'array' THEN json_array_length(items_) > 1000 ELSE TRUE END)
{%- if names %} OR EXISTS (
            SELECT 1
            FROM json_array_elements(items_) AS e (value)
            CROSS JOIN LATERAL (SELECT e.value{{ " -> '" ~ within ~ "'" if within }} AS value) AS o
            CROSS JOIN LATERAL json_object_keys(CASE json_typeof(o.value) WHEN 'object' THEN o.value ELSE '{"": 0}' END) AS k (name)
            WHERE k.name <> ALL (ARRAY[{{ members.columns ~ "]::text[]" if within else members.names ~ "]" }})
        )
{%- endif %}
    THEN
        items_ := {{ object("queue_taken_fn") }}('{{ procedure }}', items_, {{ members.all | indent(4) }});
    END IF;
{%- endmacro -%}
