{%- for c in columns %}
    q.{{ c.quoted }} AS {{ c.shown }},
{%- endfor %}
{%- for k in key %}{% if not columns | selectattr("quoted", "equalto", k.quoted) | list %}
    q.{{ k.quoted }},
{%- endif %}{% endfor %}
{%- if role.kind and not columns | selectattr("quoted", "equalto", role.kind) | list %}
    q.{{ role.kind }} AS [ItemType],
{%- endif %}
{% filter indent(4, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [ItemStatus],
    {{ n.kept(role.step, "[Step]") }} AS [ItemStep],
    {{ n.attempts(role) }} AS [ItemAttempt],
    {{ n.kept(role.response, "[Response]") }} AS [ItemResponse],
    {{ n.kept(role.error, "[Error]") }} AS [ItemError],
    {{ n.started(role, run_time, local_time, offset) }} AS [ItemStartedAt],
    {{ n.kept(role.duration, "[Duration]") }} AS [ItemDuration],
    {% if role.due %}{{ n.utc("q." ~ role.due, local_time, offset) }}{% else %}s.[DueAt]{% endif %} AS [ItemDueAt],
    {{ n.token(role) }} AS [ItemToken],
    {{ n.owner(role) }} AS [ItemOwner],
    {{ n.until(role, foreign, local_time, lease_ms, offset) }} AS [ItemLeaseUntil]
