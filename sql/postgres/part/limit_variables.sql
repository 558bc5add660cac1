{#- Of a claim in a queue with limits. #}
    limited_until_ timestamptz;
{%- if sought %}
    limit_keys_ text[] := '{}';
    limit_rooms_ integer[] := '{}';
    share_ integer;
    last_ text;
{%- endif %}
{%- for l in limits if l.by and l.nth != sought.nth %}
    blocked_{{ l.nth }}_ text[];
{%- endfor %}
