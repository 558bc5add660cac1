        INSERT INTO @_Aside ({{ item.names(t) }})
        SELECT {{ item.list(t, "k") }}
        FROM {{ object("QueueRefused") }} AS r
        CROSS APPLY (
            SELECT
{%- for k in t.key %}
                {% if t.key | length == 1 %}{{ item.read(k, "r.[Key]") }}{% else %}{{ item.read(k, "JSON_VALUE(CASE WHEN ISJSON(r.[Key]) = 1 THEN r.[Key] END, '$[" ~ loop.index0 ~ "]')") }}{% endif %} AS {{ k.var }}{{ "," if not loop.last }}
{%- endfor %}
        ) AS k
        WHERE
            r.[Queue] = '{{ queue }}'
            AND r.[Until] > @_Now
            AND NOT ({{ item.missing(t, "k") }})
        GROUP BY {{ item.list(t, "k") }};
