        INSERT INTO @Due ({{ n.names(key) }}, [AttemptNum], [Token]{{ ", [Row]" if witness }})
        SELECT TOP (@Max{{ " - @Locked" if more }})
            {{ n.list(key, "q") }},
            {% if role.attempts %}COALESCE(CAST(q.{{ role.attempts }} AS int), 0){% else %}0{% endif %},
            {% if role.token %}CAST(q.{{ role.token }} AS datetime2(7)){% else %}NULL{% endif %}{% if witness %},
            DATALENGTH(q.{{ witness }}){% endif %}
        FROM {{ table }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ index.name or "[IX_" ~ queue ~ "_Due]" }}))
        WHERE
            {{ n.stands(pending) }}
{%- if when_due %}
            AND {{ when_due }}
{%- endif %}
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "adopted/_type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if group %}
{%- include "adopted/_group_free.sql" %}
{%- endif %}
{%- if order %}
        ORDER BY
{%- for c in order %}
            q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif -%}
        ;
