{#-
Due items under another value that means Pending become what a claim seeks: one index serves one value. They stand in @_Due meanwhile,
no more than are asked for, so that a refusal of the table is met as one of a claim: by halves, until the row is found and set aside.
#}
        /* Several values mean Pending. An item that is due under another than the first gets the first, or one seek would not find it. */
{%- for other in t.staged.others %}
{%- for when_due in kind.whens(t, role) | split(" ") %}
        SET @_Take = @Max - (SELECT COUNT(*) FROM @_Due);
        INSERT INTO @_Due ({{ item.names(t) }}, [AttemptNum])
        SELECT TOP (@_Take) {{ item.of_item(t) }}, 0
        FROM {{ table }} AS q
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }}))
        WHERE
            {{ item.waits(t, "q", other) }}
{%- if when_due %}
            AND {{ kind.due(t, when_due) }}
{%- endif %}
            AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE {{ item.found(t, "a") }})
            AND NOT EXISTS (SELECT 1 FROM @_Due AS d WHERE {{ item.found(t, "d") }})
        ORDER BY {{ kind.ordered(due_columns) }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endfor %}
{%- endfor %}

        UPDATE q
        SET {{ t.staged.quoted }} = {{ t.staged.first }}
        FROM @_Due AS d
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {{ item.found(t, "d") }}
        WHERE {% for other in t.staged.others %}{{ "(" if loop.first and not loop.last }}{{ item.waits(t, "q", other) }}{{ " OR " if not loop.last }}{{ ")" if loop.last and not loop.first }}{% endfor %}
        OPTION (LOOP JOIN, FORCE ORDER);
        DELETE FROM @_Due;
