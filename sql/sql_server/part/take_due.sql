{#- Locks what is due: of all, or of the kind at hand by the index of `search`. `when_due` is the condition on the due time. -#}
{%- import "part/item.sql" as item -%}
{%- import "part/kind.sql" as kind -%}
{%- macro due(when_due, search=none, without_step=false) %}
        INSERT INTO @_Due ({{ item.names(t) }}, [AttemptNum], [Alone], [Token]{{ ", [Row]" if t.witness }})
        SELECT TOP (@_Take)
            {{ item.of_item(t) }},
            {{ item.attempts(t) if role.attempts else "0" }},
            {{ "0" if beside else item.died(t) }},
            {{ item.token(t) if role.token else "NULL" }}{% if t.witness %},
            DATALENGTH(q.{{ t.witness }}){% endif %}
        FROM {{ table }} AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ search.index if search else t.due_index }}))
        WHERE
            {{ kind.is(search, role, "@_KindType", "@_KindStep", without_step) ~ "\n            AND " if search }}{{ item.waits(t) }}
{%- if when_due %}
            AND {{ when_due }}
{%- endif %}
{%- if search %}
            /* Locks of one's own are no reason to read past. */
            AND NOT EXISTS (SELECT 1 FROM @_Due AS d WHERE {{ item.found(t, "d") }})
{%- endif %}
{%- if own_types_only and not (search and search.type) %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- if group %}
{% include "part/group_free.sql" %}
{%- endif %}
{%- set by = due_columns if search else order %}
{%- if by %}
        ORDER BY
{%- for c in by %}
            q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
        OPTION ({{ "LOOP JOIN, FORCE ORDER, " if group or own_types_only or search }}OPTIMIZE FOR (@_Take = 1));
{%- endmacro -%}
