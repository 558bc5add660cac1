{#- The kinds of items that a claim can be limited to: `search` says by what an index finds them. -#}
{#- The condition of this kind; `without` is that of the items without a step. -#}
{%- macro is(search, role, kind_type, kind_step, without=false, q="q") %}
{%- if search.type %}{{ q }}.{{ role.kind }} = {{ kind_type }}{{ " AND " if search.step }}{% endif %}
{%- if search.step %}{{ q }}.{{ role.step }} {{ "IS NULL" if without else "= " ~ kind_step }}{% endif %}
{%- endmacro -%}
{#-
The condition on the due time. `when` is "past", "unset" (it is due at once), or "either"; a table without such a time has none of
them. A described column may be a datetime: beside a datetime2 it would be converted row by row, and come out of its index in
no order to rely on.
-#}
{%- macro due(t, when, q="q") -%}
{%- if when == "unset" %}{{ q }}.{{ t.role.due }} IS NULL
{%- elif when == "either" %}({{ q }}.{{ t.role.due }} IS NULL OR {{ q }}.{{ t.role.due }} <= {{ t.at }})
{%- elif t.own %}{{ q }}.{{ t.role.due }} <= {{ t.at }}
{%- else %}{{ q }}.{{ t.role.due }} <= CAST(DATEADD(MICROSECOND, 1700, {{ t.at }}) AS datetime) /* no less than {{ t.at }} */
            AND DATEDIFF_BIG(MICROSECOND, {{ q }}.{{ t.role.due }}, {{ t.at }}) >= 0
{%- endif %}
{%- endmacro -%}
{#- The searches by due time that find all that is due: where the due time leads the index, it is sought twice. -#}
{%- macro whens(t, role) -%}
{{ "past" if t.own else "" if not role.due else "unset past" if t.due_leads else "either" }}
{%- endmacro -%}
{%- macro ordered(columns, q="q.") %}
{%- for c in columns %}{{ q }}{{ c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro -%}
{#- The option by which a claim goes by this search, of those that there are. -#}
{%- macro given(search) %}{{ "@Steps" if search.step else "@Types" }} IS NOT NULL{% endmacro -%}
