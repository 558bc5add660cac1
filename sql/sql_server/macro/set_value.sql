{#- The values that a settlement sets: v has them by number, h says which are given; what is left out stays. -#}
{%- macro becomes(at, kept) -%}
CASE WHEN h.[Value{{ at }}] = 1 THEN v.[Value{{ at }}] ELSE {{ kept }} END
{%- endmacro -%}

{%- macro given(columns, of="") %}
{%- set from = "i.[Set]" ~ (", '$.\"" ~ of ~ "\"'" if of) %}
            CROSS APPLY OPENJSON({{ from }}) WITH (
{%- for c in columns %}
                [Value{{ loop.index }}] {{ c.json_type }} '$."{{ c.name }}"'{{ " AS JSON" if c.is_json }}{{ "," if not loop.last }}
{%- endfor %}
            ) AS v
            CROSS APPLY (
                SELECT
{%- for c in columns %}
                    MAX(CASE WHEN n.[key] = N'{{ c.name }}' THEN 1 ELSE 0 END) AS [Value{{ loop.index }}]{{ "," if not loop.last }}
{%- endfor %}
                FROM OPENJSON({{ from }}) AS n
            ) AS h
{%- endmacro -%}
