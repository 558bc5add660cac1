{#- Rows that were found are locked, looked at again (`fits`, `may_go`), and deleted, with what stands beside it. #}

        INSERT INTO @_Locked ({{ item.names(t) }}{{ ", [Row]" if presence and t.witness }})
        SELECT {{ item.of_item(t) }}{{ ", DATALENGTH(q." ~ t.witness ~ ")" if presence and t.witness }}
        FROM @_Found AS f
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {{ item.found(t, "f") }}

{#- With row versions it would be read as it was when the statement began, before the row of the table was locked. #}
{{- item.beside(t, " WITH (UPDLOCK, ROWLOCK)") | indent(8) }}
{%- filter indent(4) %}{{ fits }}{% endfilter %}
        WHERE {{ may_go }}
        OPTION (LOOP JOIN, FORCE ORDER);

{%- for u in t.subtypes if not own %}

        DELETE {{ u.alias }}
        FROM @_Locked AS l
        INNER JOIN {{ u.table }} AS {{ u.alias }} WITH (ROWLOCK)
            ON {{ item.part_of(t, "l", u.alias) }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endfor %}

        DELETE q
        FROM @_Locked AS l
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "l") }}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Purged = @@ROWCOUNT;
{%- if beside %}

        DELETE s
        FROM @_Locked AS l
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "l") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if attempt_history %}

        DELETE a
        FROM @_Locked AS l
        INNER JOIN {{ t.attempt }} AS a WITH (ROWLOCK)
            ON {{ item.attempt_of(t, "l") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if reports_alone %}

        DELETE p
        FROM @_Locked AS l
        INNER JOIN {{ t.progress }} AS p WITH (ROWLOCK)
            ON {{ item.attempt_of(t, "l", "p") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
