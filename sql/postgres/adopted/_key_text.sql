{%- set after = then | default("") -%}
{%- if composite -%}
'['
{%- for column in key %} || to_json({% if column.is_time %}to_char({{ of }}{{ loop.index }}{{ after }}::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'){% else %}{{ of }}{{ loop.index }}{{ after }}::text{% endif %})::text || {{ "']'" if loop.last else "','" }}{% endfor -%}
{%- elif key[0].is_time -%}
to_char({{ of }}1{{ after }}::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
{%- else -%}
{{ of }}1{{ after }}::text
{%- endif -%}
