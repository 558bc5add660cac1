        SELECT {% set of = "v.item_key_" %}{% include "adopted/_key_text.sql" %}
        INTO key_
        FROM json_to_record(item_.columns) AS c (
{%- for column in same %}{{ column.shown }} {{ "text" if column.is_time else column.type }}{{ ", " if not loop.last }}{% endfor -%}
        )
        INNER JOIN {{ object(queue ~ "_item_v") }} AS v
            ON
{%- for column in same %}
                {{ "AND " if not loop.first }}v.{{ column.shown }} = {% if column.is_time %}{{ object("queue_time_fn") }}(c.{{ column.shown }}){% else %}c.{{ column.shown }}{% endif %}
{%- endfor %}
{%- if dedup.unfinished_only %}
        WHERE NOT {{ object("queue_is_finished_fn") }}(v.item_status)
{%- endif %}
        ORDER BY {% include "adopted/_key_list.sql" %}
        LIMIT 1;
