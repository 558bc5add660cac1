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
Members that the elements of items_ may have, each with its type. The library has checked its own values: new items by the description of
this `number`, all others by what every queue takes, which its sessions say.
-#}
{%- macro takes(procedure, members, number="") %}
    /* The library has checked its items. */
    IF
        {{ "checked_by_ IS DISTINCT FROM '" ~ number ~ "'" if number else "current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on'" }}
        OR (CASE json_typeof(items_) WHEN 'array' THEN json_array_length(items_) > 1000 ELSE TRUE END)
    THEN
        items_ := {{ object("queue_taken_fn") }}('{{ procedure }}', items_, {{ members.all | indent(4) }});
    END IF;
{%- endmacro -%}
