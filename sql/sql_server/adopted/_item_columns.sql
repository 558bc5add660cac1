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
    {{ n.kept_text(role.step, "[Step]") }} AS [ItemStep],
    {{ n.attempts(role) }} AS [ItemAttempt],
    {{ n.kept_text(role.response, "[Response]") }} AS [ItemResponse],
    {{ n.kept_text(role.error, "[Error]") }} AS [ItemError],
    {{ n.started(role, run_time, local_time, offset) }} AS [ItemStartedAt],
{%- if completed_is_told and role.started and role.finished and not role.duration and not run_time %}
    /* Of what is completed nothing is kept beside the table, which has both times. */
    COALESCE(
        s.[Duration],
        CASE WHEN {{ n.stands(completed) }} THEN DATEDIFF_BIG(MILLISECOND, q.{{ role.started }}, q.{{ role.finished }}) END
    ) AS [ItemDuration],
{%- else %}
    {{ n.kept(role.duration, "[Duration]") }} AS [ItemDuration],
{%- endif %}
    {% if role.due %}{{ n.utc("q." ~ role.due, local_time, offset) }}{% else %}s.[DueAt]{% endif %} AS [ItemDueAt],
    {{ n.token(role) }} AS [ItemToken],
    {{ n.owner(role) }} AS [ItemOwner],
    CASE WHEN {{ n.stands(processing) }} THEN {{ n.until(role, foreign, local_time, lease_ms, offset) }} END AS [ItemLeaseUntil]
