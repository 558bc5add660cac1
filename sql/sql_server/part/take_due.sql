        INSERT INTO @_Due ({{ item.names(t) }}, [AttemptNum], [Alone], [Token]{{ ", [DueAt]" if t.by_type }}{{ ", [Priority]" if t.by_type and priority }}{{ ", [Row]" if t.witness }})
        SELECT TOP (@_Take)
            {{ item.of_item(t) }},
            {{ item.attempts(t) if role.attempts else "0" }},
            {{ "0" if beside else item.died(t) }},
            {{ item.token(t) if role.token else "NULL" }}{% if t.by_type %},
            q.{{ role.due }}{% endif %}{% if t.by_type and priority %},
            q.{{ priority.quoted }}{% endif %}{% if t.witness %},
            DATALENGTH(q.{{ t.witness }}){% endif %}
        FROM {{ table }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }}))
        WHERE
{%- if t.by_type %}
            q.{{ role.kind }} = @_OwnType
            AND {{ item.waits(t) }}
{%- else %}
            {{ item.waits(t) }}
{%- endif %}
{%- if when_due %}
            AND {{ when_due }}
{%- endif %}
{%- if own_types_only and not t.by_type %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if group %}
{% include "part/group_free.sql" %}
{%- endif %}
{%- if order %}
        ORDER BY
{%- for c in order %}
            q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
        OPTION ({{ "LOOP JOIN, FORCE ORDER, " if group or own_types_only and not t.by_type }}OPTIMIZE FOR (@_Take = 1));
