        INSERT INTO @_Aside ({{ item.names(t) }})
        SELECT {{ item.list(t, "k") }}
        FROM {{ object("QueueRefused") }} AS r WITH (READUNCOMMITTED) /* a row that is being deleted is of one that was let through */
        CROSS APPLY (
            SELECT
{%- for k in t.key %}
                {{ item.read_part(t, k, loop.index0, "r.[Key]") }} AS {{ k.var }}{{ "," if not loop.last }}
{%- endfor %}
        ) AS k
        WHERE
            r.[Queue] = '{{ queue }}'
            AND r.[Until] > @_Now
            AND r.[Doing] <> 'pause'
            AND NOT ({{ item.missing(t, "k") }})
        GROUP BY {{ item.list(t, "k") }};
