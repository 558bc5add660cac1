
    f_ record;
{%- if searchable %}
    wanted_ jsonb;
{%- endif %}
    keys_ {{ m.key_given() }}[];
{%- include "part/key_variables.sql" %}