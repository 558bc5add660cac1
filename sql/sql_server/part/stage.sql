{#- Due items under another value that means Pending become what a claim seeks: one index serves one value. #}
        /* Several values mean Pending. An item that is due under another than the first gets the first, or one seek would not find it. */
{%- for other in t.staged.others %}
{%- for when_due in kind.whens(t, role) | split(" ") %}
        UPDATE q
        SET {{ t.staged.quoted }} = {{ t.staged.first }}
        FROM (
            SELECT TOP (@Max) {% for k in t.key %}n.{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}
            FROM {{ table }} AS n
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }}))
            WHERE
                {{ item.waits(t, "n", other) }}
{%- if when_due %}
                AND {{ kind.due(t, when_due, "n") | indent(4) }}
{%- endif %}
            ORDER BY {{ kind.ordered(due_columns, "n.") }}
        ) AS n
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {% for k in t.key %}q.{{ k.quoted }} = n.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %}
        WHERE {{ item.waits(t, "q", other) }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endfor %}
{%- endfor %}
