{#- The row as QueueFits_fn takes it. -#}
{%- set changed %}{% include "part/changed.sql" %}{% endset -%}
{{ "" }}
    CROSS APPLY {{ object("QueueFits_fn") }}(
        @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now,
        {{ item.status(t) }},
        {{ item.plain(t, "q." ~ role.kind) if role.kind else text(types[0]) }},
        {{ changed }},
        {{ item.started(t) }},
        {{ item.duration(t) }},
        {{ item.error(t) }}
    ) AS fit
{%- if searchable %}
    CROSS APPLY {{ object(queue ~ "_Has_fn") }}(
        @_Columns, @_Members,
{%- for c in searchable %}
        q.{{ c.quoted }}{{ "," if not loop.last }}
{%- endfor %}
    )
{%- endif %}