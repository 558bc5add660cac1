        SELECT {{ m.key_text("v.item_key_") }}
        INTO key_
        FROM json_to_record(item_.columns) AS c (
{%- for column in same %}{{ column.shown }} {{ "text" if column.is_time else of.read_as(column) }}{{ ", " if not loop.last }}{% endfor -%}
        )
        INNER JOIN {% if beside %}{{ object(queue ~ "_item_v") }}{% else %}(
            SELECT
{%- for column in key %}
                q.{{ column.quoted }} AS item_key_{{ loop.index }},
{%- endfor %}
{%- for column in same %}
                q.{{ column.quoted }} AS {{ column.shown }},
{%- endfor %}
                {{ m.of("status") }} AS item_status
            FROM {{ table }} AS q
{{- "\n            WHERE " ~ m.is_its() if rows }}
        ){% endif %} AS v
            ON
{%- for column in same %}
{%- set value = of.given(column, "item_.columns", "c." ~ column.shown) %}
                {{ "AND " if not loop.first }}v.{{ column.shown }} = {% if column.is_time %}{{ object("queue_time_fn") }}({{ value }}){% else %}{{ value }}{% endif %}
{%- endfor %}
{%- if dedup.unfinished_only %}
        WHERE NOT {{ object("queue_is_finished_fn") }}(v.item_status)
{%- endif %}
        ORDER BY {{ m.list("v.item_key_") }}
        LIMIT 1;
