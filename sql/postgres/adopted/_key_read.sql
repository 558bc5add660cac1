{%- for column in key %}
            {% if column.is_time %}{{ object("queue_time_fn") }}({% endif -%}
            {%- if composite -%}
            ({{ from }}::json ->> {{ loop.index0 }})
            {%- else -%}
            ({{ from }})
            {%- endif -%}
            {%- if column.is_time %}){% endif %}::{{ key_types[loop.index0] }} AS key_{{ loop.index }}{{ "," if not loop.last }}
{%- endfor -%}
