
        /* A key lets as many of them begin as it has room for. */
        SELECT f.*
        FROM (
            SELECT
                f.*{% for l in tried %},
                ROW_NUMBER() OVER (PARTITION BY f.limit_key_{{ l.nth }} ORDER BY {{ m.by_place("f.item_by_") }}) AS nth_{{ l.nth }}
{%- if l.weight %},
                r{{ l.nth }}.room AS room_{{ l.nth }}, r{{ l.nth }}.at_once - r{{ l.nth }}.in_work AS left_{{ l.nth }},
                SUM({{ m.weighs("f.weight_" ~ l.nth, "r" ~ l.nth ~ ".at_once") }}) OVER (
                    PARTITION BY f.limit_key_{{ l.nth }} ORDER BY {{ m.by_place("f.item_by_") }} ROWS UNBOUNDED PRECEDING
                ) AS sum_{{ l.nth }}
{%- endif %}{% endfor %}
            FROM sought AS f
{%- for l in weighted %}
            LEFT JOIN LATERAL (
                SELECT r.room, r.at_once, r.in_work
                FROM {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(f.limit_key_{{ l.nth }}, now_) AS r
                WHERE f.limit_key_{{ l.nth }} <> ''
            ) AS r{{ l.nth }} ON TRUE
{%- endfor %}
        ) AS f
        WHERE
{%- for l in tried %}
            {{ "AND " if not loop.first }}(
                f.limit_key_{{ l.nth }} = ''
{%- if l.weight %}
                OR (f.nth_{{ l.nth }} <= f.room_{{ l.nth }} AND f.sum_{{ l.nth }} <= f.left_{{ l.nth }})
{%- else %}
                OR f.nth_{{ l.nth }} <= (
                    SELECT r.room FROM {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(f.limit_key_{{ l.nth }}, now_) AS r
                )
{%- endif %}
            )
{%- endfor %}
        ORDER BY {{ m.by_place("f.item_by_") }}