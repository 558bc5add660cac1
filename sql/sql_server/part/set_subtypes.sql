{#- The subtypes' tables come after the table itself: its rows are locked, and written. -#}
{%- for u in t.subtypes %}

        IF @_Sets = 1
        BEGIN
            UPDATE {{ u.alias }}
            SET
{%- for c in u.columns %}
                {{ c.quoted }} = {{ value.becomes(loop.index, u.alias ~ "." ~ c.quoted) }}{{ "," if not loop.last }}
{%- endfor %}
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN {{ u.table }} AS {{ u.alias }} WITH (ROWLOCK)
                ON {{ item.part_of(t, "i", u.alias) }}
{{- value.given(u.columns, u.name) }}
            WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."{{ u.name }}"') IS NOT NULL
            OPTION (LOOP JOIN, FORCE ORDER);

            IF @@ROWCOUNT <> (
                SELECT COUNT(*)
                FROM @_Item AS i
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."{{ u.name }}"') IS NOT NULL
            )
                THROW 50021, N'{{ procedure }}: an item that is to get values of {{ u.name }} was enqueued without it.', 1;
        END;
{%- endfor %}
