        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %}
{%- if false %}{% endif -%}
