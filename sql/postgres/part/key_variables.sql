{%- for column in key %}
    key_{{ loop.index }}_ {{ key_types[loop.index0] }}[];
{%- endfor %}
