{#- When an item last changed, in UTC, as far as it is known. -#}
{%- if not beside %}{{ item.token(t) }}
{%- elif not role.finished and not role.enqueued %}s.[UpdatedAt]
{%- else %}COALESCE(s.[UpdatedAt]
{%- for known in [role.finished, role.enqueued] if known %}, {{ item.utc(t, "q." ~ known) }}{% endfor %})
{%- endif -%}
