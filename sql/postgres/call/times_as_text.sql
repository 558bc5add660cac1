{#-
A statement by the names of its columns, with its times and dates as text, which psqlODBC hands on as it is; others it would read
by sscanf first. What only repeats another column is not sent.

The statement is prepared once, and its function may get other columns meanwhile. The condition is always true and never
computed, but the server plans it anew then, and refuses the statement when there is another column, or when a time or a date
has become something else, which its text would not tell. It is prepared anew then.
-#}
{{ before or "SELECT" }}
{%- for column in columns %}
    {{ "NULL" if column.repeats else "r." ~ column.quoted ~ ("::text" if column.time or column.date else "") }}{{ "," if not loop.last }}
{%- endfor %}
FROM {{ from }}
{{ joins }} (
    TRUE
    OR EXISTS (SELECT 1 FROM (VALUES (r.*), ({% for column in columns %}r.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %})) AS v)
{%- for column in columns if column.time %}
    OR r.{{ column.quoted }} - r.{{ column.quoted }} = interval '0'
{%- endfor %}
{%- for column in columns if column.date %}
    OR r.{{ column.quoted }} - date '2000-01-01' = 0
{%- endfor %}
)
