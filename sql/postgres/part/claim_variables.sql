{#- Variables of a claim, besides now_ and max_attempts_. -#}
{%- if shards %}
    shard_turn_ bigint;
{%- endif %}
{%- if kind_searches %}
    kinds_ integer;
{%- endif %}
{%- if asks_types %}
    kind_types_ text[];
{%- endif %}
{%- if asks_steps %}
    kind_steps_ text[];
{%- endif %}
{%- if limits %}
    room_ record;
{%- endif %}
{%- if beside %}
{%- include "part/key_variables.sql" %}
{%- if due_in_order and index.name %}
    found_ integer;
{%- for column in key %}
    more_{{ loop.index }}_ {{ key_types[loop.index0] }}[];
{%- endfor %}
{%- endif %}
{%- endif %}
