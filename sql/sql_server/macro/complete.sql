{#- Completed items go where the description sends them. `gone` has their keys and states. -#}
{%- import "macro/item.sql" as item -%}
{%- macro completed(gone) %}
{%- if completion == "history" %}

        /* Completed items move to the history. */
{%- if own %}
        INSERT INTO {{ t.history }} (
{%- for c in t.row %}
            {{ c }}{{ "," if not loop.last }}
{%- endfor %}
        )
        SELECT
{%- for c in t.row %}
            q.{{ c }}{{ "," if not loop.last }}
{%- endfor %}
{%- else %}
        INSERT INTO {{ object(queue ~ "_History_V") }}
        SELECT q.*
{%- endif %}
        FROM {{ gone }} AS w
        INNER JOIN {{ table if own else object(queue ~ "_Row_V") }} AS q
            ON {{ item.found(t, "w") }}
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- else %}

        /* Completed items leave the table. */
{%- endif %}

{%- for u in t.subtypes if not own %}

        DELETE {{ u.alias }}
        FROM {{ gone }} AS w
        INNER JOIN {{ u.table }} AS {{ u.alias }} WITH (ROWLOCK)
            ON {{ item.part_of(t, "w", u.alias) }}
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endfor %}

        DELETE q
        FROM {{ gone }} AS w
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "w") }}
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if completion == "delete" %}
        SET @_Written = @_Written + @@ROWCOUNT;
{%- endif %}
{%- if reports_alone %}

        DELETE p
        FROM {{ gone }} AS w
        INNER JOIN {{ t.progress }} AS p WITH (ROWLOCK)
            ON {{ item.attempt_of(t, "w", "p") }}
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- endmacro -%}
