{#- How the columns of the key are listed, compared, read and shown; how the table's states are told. -#}
{%- macro names(key) %}{% for k in key %}{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro list(key, item) %}{% for k in key %}{{ item }}.{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro same(key, one, other) %}
{%- for k in key %}{{ one }}.{{ k.quoted }} = {{ other }}.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro found(key, seek, other) %}
{%- for s in seek %}q.{{ s.quoted }} IN ({{ s["values"] | join(", ") }}) AND {% endfor %}
{%- for k in key %}q.{{ k.quoted }} = {{ other }}.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro declared(key, null="NOT NULL") %}
{%- for k in key %}
        {{ k.quoted }} {{ k.type }} {{ null }},
{%- endfor %}
{%- endmacro -%}
{%- macro one_text(k, item) %}
{%- if k.is_time %}CONVERT(nvarchar(30), CAST({{ item }}.{{ k.quoted }} AS datetime2(7)), 126)
{%- elif k.type is startingwith("nvarchar") %}{{ item }}.{{ k.quoted }}
{%- else %}CAST({{ item }}.{{ k.quoted }} AS nvarchar(36)){% endif %}
{%- endmacro -%}
{%- macro text(key, item) %}
{%- if key | length == 1 %}{{ one_text(key[0], item) }}
{%- else %}CONCAT(N'["', {% for k in key %}STRING_ESCAPE({{ one_text(k, item) }}, 'json'), {{ "N'\",\"'" if not loop.last else "N'\"]'" }}{{ ", " if not loop.last }}{% endfor %}){% endif %}
{%- endmacro -%}
{%- macro read(k, given) %}
{%- if k.type is startingwith("nvarchar") %}CASE WHEN DATALENGTH({{ given }}) = DATALENGTH(CAST({{ given }} AS {{ k.type }})) THEN {{ given }} END
{%- else %}TRY_CAST(NULLIF({{ given }}, N'') AS {{ k.type }}){% endif %}
{%- endmacro -%}
{%- macro reads(key, given) %}
{%- for k in key %}
        {% if key | length == 1 %}{{ read(k, given) }}{% else %}{{ read(k, "JSON_VALUE(CASE WHEN ISJSON(" ~ given ~ ") = 1 THEN " ~ given ~ " END, '$[" ~ loop.index0 ~ "]')") }}{% endif %},
{%- endfor %}
{%- endmacro -%}
{%- macro stands(conditions, item="q") %}
{%- for c in conditions %}{{ item }}.{{ c.quoted }}{% if c.holds == "value" %} = {{ c.literal }}{% elif c.holds == "null" %} IS NULL{% else %} IS NOT NULL{% endif %}{{ " AND " if not loop.last }}{% endfor %}
{%- endmacro -%}
{%- macro states(names) %}{% for name in names %}'{{ name }}'{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro utc(value, local, offset="@Offset") %}
{%- if local %}DATEADD(MINUTE, -{{ offset }}, CAST({{ value }} AS datetime2(7))){% else %}CAST({{ value }} AS datetime2(7)){% endif %}
{%- endmacro -%}
{%- macro own(value, local) %}
{%- if local %}DATEADD(MINUTE, @Offset, {{ value }}){% else %}{{ value }}{% endif %}
{%- endmacro -%}
{%- macro attempts(role) %}{% if role.attempts %}COALESCE(CAST(q.{{ role.attempts }} AS int), 0){% else %}COALESCE(s.[AttemptNum], 0){% endif %}{% endmacro -%}
{#- Compared by code point, as in the table beside it: two workers whose names differ only in case are two workers. -#}
{%- macro owner(role) %}{% if role.owner %}CAST(q.{{ role.owner }} AS nvarchar(128)) COLLATE Latin1_General_BIN2{% else %}s.[LeaseOwner]{% endif %}{% endmacro -%}
{#- Text of the table's beside text of ours: in the database's collation, whatever the column has. -#}
{%- macro plain(text) %}{{ text }} COLLATE DATABASE_DEFAULT{% endmacro -%}
{%- macro kept(column, side) %}{% if column %}COALESCE(q.{{ column }}, s.{{ side }}){% else %}s.{{ side }}{% endif %}{% endmacro -%}
{%- macro kept_text(column, side) %}{% if column %}COALESCE({{ plain("q." ~ column) }}, s.{{ side }}){% else %}s.{{ side }}{% endif %}{% endmacro -%}
{%- macro token(role) %}{% if role.token %}CAST(q.{{ role.token }} AS datetime2(7)){% else %}s.[UpdatedAt]{% endif %}{% endmacro -%}
{%- macro started(role, run_time, local, offset="@Offset") %}
{%- if role.started and not run_time %}COALESCE(s.[StartedAt], {{ utc("q." ~ role.started, local, offset) }}){% else %}s.[StartedAt]{% endif %}
{%- endmacro -%}
{%- macro until(role, foreign, local, lease, offset="@Offset") %}
{%- if role.lease_until %}{{ utc("q." ~ role.lease_until, local, offset) }}
{%- elif foreign %}CASE WHEN s.[UpdatedAt] IS NULL OR s.[Status] = 'Pending' THEN DATEADD(MILLISECOND, {{ lease }}, {{ utc("q." ~ role.started, local, offset) }}) ELSE s.[LeaseUntil] END
{%- else %}s.[LeaseUntil]{% endif %}
{%- endmacro -%}
{#- 1 for what came back from a dead worker: the row beside the table keeps its lease that is over, which nobody else reads. -#}
{%- macro died() %}CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END{% endmacro -%}
{%- macro later(token, now) %}CASE WHEN {{ token }} >= {{ now }} THEN DATEADD(MICROSECOND, 1, {{ token }}) ELSE {{ now }} END{% endmacro -%}
