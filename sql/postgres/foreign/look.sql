SELECT v.*
FROM {{ view }} AS v
WHERE v.{{ key }} IN (
{%- for i in range(count) %}
    ?::{{ key_type }}{{ "," if not loop.last }}
{%- endfor %}
)
