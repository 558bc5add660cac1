SELECT v.*
FROM {{ view }} AS v
WHERE v.{{ key }} IN (
{%- for i in range(count) %}
    {% if key_kind == "time" %}CAST(? AS datetime2(7))
    {%- elif key_kind == "zoned" %}CAST(? AS datetimeoffset(7))
    {%- elif key_kind == "coarse" %}CAST(CAST(? AS datetime2(7)) AS datetime)
    {%- elif key_kind == "integer" %}CAST(? AS bigint)
    {%- elif key_kind == "guid" %}CAST(? AS uniqueidentifier)
    {%- elif key_kind == "binary" %}CONVERT(varbinary(8000), ?, 2)
    {%- else %}?{% endif %}{{ "," if not loop.last }}
{%- endfor %}
)
