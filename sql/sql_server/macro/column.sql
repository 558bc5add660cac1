{#- Conditions on the rows of a table that readpast makes, as the description says it. -#}
{%- macro constraints(columns) %}
{%- for c in columns %}{% for k in c.constraints %}
        CONSTRAINT {{ k.name }}
            {{ k.definition }},
{%- endfor %}{% endfor %}
{%- endmacro -%}
{#- A column of the author's in a table that readpast makes; a history has the values that its items had, and no default. -#}
{%- macro declared(c) -%}
{{ history(c) }}{% if c.default %} CONSTRAINT {{ c.default_name }} DEFAULT ({{ c.default }}){% endif %}
{%- endmacro -%}
{%- macro history(c) -%}
{{ c.quoted }} {{ c.stored }} {{ "NULL" if c.nullable else "NOT NULL" }}
{%- endmacro -%}
{#- A value that is left out has its default; one that is given as null is NULL. OPENJSON distinguishes the two by the names that are there. -#}
{%- macro given(c, names) -%}
{% if c.default %}CASE WHEN {{ names }}.{{ c.var }} = 1 THEN r.{{ c.var }} ELSE {{ c.default }} END{% else %}r.{{ c.var }}{% endif %}
{%- endmacro -%}
{%- macro has(columns, path, names) -%}
{%- set defaulted = columns | selectattr("default") | list -%}
{%- if defaulted %}
        CROSS APPLY (
            SELECT
{%- for c in defaulted %}
                MAX(CASE WHEN n.[key] = N'{{ c.name }}' THEN 1 ELSE 0 END) AS {{ c.var }}{{ "," if not loop.last }}
{%- endfor %}
            FROM OPENJSON(j.[value], '{{ path }}') AS n
        ) AS {{ names }}
{%- endif %}
{%- endmacro -%}
{#- Whether what an element gives for a column of bytes is no base64, of which OPENJSON makes NULL. -#}
{%- macro undecoded(c, from) -%}
{{ from }} WITH ([Bytes] varbinary(max) '$."{{ c.name }}"') AS b
            CROSS APPLY {{ from }} AS n
            WHERE n.[key] = N'{{ c.name }}' AND n.[type] <> 0 AND b.[Bytes] IS NULL
{%- endmacro -%}
{%- macro no_base64(procedure, columns, path, before="") %}
{%- for c in columns if c.is_binary %}

        IF EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY {{ undecoded(c, "OPENJSON(j.[value], '" ~ path ~ "')") }}
        )
            THROW 50021, N'{{ procedure }}: {{ before }}{{ c.name }} takes bytes as base64.', 1;
{%- endfor %}
{%- endmacro -%}
