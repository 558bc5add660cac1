        LEFT JOIN LATERAL (
            SELECT
{%- for column in same %}
                q.{{ column.quoted }}{{ "," if not loop.last }}
{%- endfor %}
            FROM {{ table }} AS q
            WHERE {{ m.at_key("v.key_") }}
        ) AS w ON TRUE
