
        /* A key lets as many of them begin as it has room for. */
        SELECT f.*
        FROM (
            SELECT
                f.*{% for l in filters %},
                ROW_NUMBER() OVER (PARTITION BY f.limit_key_{{ l.nth }} ORDER BY {{ m.by_place("f.item_by_") }}) AS nth_{{ l.nth }}{% endfor %}
            FROM sought AS f
        ) AS f
        WHERE
{%- for l in filters %}
            {{ "AND " if not loop.first }}(
                f.limit_key_{{ l.nth }} = ''
                OR f.nth_{{ l.nth }} <= (
                    SELECT r.room FROM {{ object("limit_" ~ queue ~ "_" ~ l.nth) }}(f.limit_key_{{ l.nth }}, now_) AS r
                )
            )
{%- endfor %}
        ORDER BY {{ m.by_place("f.item_by_") }}