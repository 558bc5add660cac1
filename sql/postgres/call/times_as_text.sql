{#-
A statement with its times as text, which psqlODBC hands on as it is; a time it would read by sscanf first. What only repeats
another column is not sent.
-#}
SELECT
{%- for is_time in times %}
    {% if repeats[loop.index0] %}NULL{% else %}r.c{{ loop.index }}{{ "::text" if is_time }}{% endif %}{{ "," if not loop.last }}
{%- endfor %}
FROM (
{{ statement }}
) AS r ({% for _ in times %}c{{ loop.index }}{{ ", " if not loop.last }}{% endfor %})
