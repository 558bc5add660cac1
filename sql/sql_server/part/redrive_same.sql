        CROSS APPLY (
            SELECT CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM {{ table }} AS e WITH ({{ "ROWLOCK, READCOMMITTEDLOCK, INDEX ([IX_" ~ queue ~ "_Work])" if own else "UPDLOCK, ROWLOCK, FORCESEEK" }})
{%- if beside %}
                    LEFT JOIN {{ t.lease }} AS z WITH (ROWLOCK, READCOMMITTEDLOCK)
                        ON {{ item.kept_of(t, "z", "e") }}
{%- endif %}
                    WHERE
                        NOT ({% for k in key %}e.{{ k.quoted }} = q.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %})
                        {{ item.its(t, "AND ", "e") ~ "\n                        " if t.rows }}AND {{ item.status(t, "e", "z") }} IN ('Pending', 'Processing', 'Error', 'Paused')
{%- for column in t.work %}
                        AND e.{{ column.quoted }} = q.{{ column.quoted }}
{%- if column.nullable %}
                        AND e.{{ column.quoted }} IS NOT NULL
{%- endif %}
{%- endfor %}
                ) THEN 1
                ELSE 0
            END AS [Same]
        ) AS m
{#- Whether the same work is in the queue again, unfinished. -#}
