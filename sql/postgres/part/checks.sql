{#- Checks of a call, before anything is done: `asked` names what it has, `least` is the fewest items that may be. -#}
{%- macro arguments(procedure, asked, least, lease) -%}
(
        '{{ procedure }}'
        {{- ", worker_" if "worker" in asked }}{{ (", " if "worker" in asked else ", most => ") ~ "max_" if "most" in asked }}
        {{- ", fewest => " ~ least if least != 1 }}{{ ",\n        lease_ms => " ~ lease if "lease" in asked }}
        {{- ",\n        started_at => started_at_" if "started" in asked }}
    )
{%- endmacro -%}
{%- macro checks(procedure, asked, least=1, lease="lease_ms_") %}
    {{ "lease_ms_ :=" if "lease" in asked else "PERFORM" }} {{ object("queue_check_fn") }}{{ arguments(procedure, asked, least, lease) }};
{%- endmacro -%}
{#- Members that the elements of items_ may have, each with its type. -#}
{%- macro takes(procedure, members, within="") %}
    items_ := {{ object("queue_taken_fn") }}(
        '{{ procedure }}', items_, {{ members.all | indent(4) }},
        ARRAY[{{ members.columns if within else members.names }}]{{ "::text[], '" ~ within ~ "'" if within }}
    );
{%- endmacro -%}
