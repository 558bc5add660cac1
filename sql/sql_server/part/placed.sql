{#- Items that came kind by kind, or key by key, get their places in the order of all. #}
        IF @_Turn > 2
        BEGIN
            /* They came kind by kind; what follows goes by the order of all. */
            INSERT INTO @_Placed ({{ item.names(t) }})
            SELECT {{ item.list(t, "d") }}
            FROM @_Due AS d
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "d") }}
            ORDER BY {{ kind.ordered(due_columns) }}
            OPTION (LOOP JOIN, FORCE ORDER);

            UPDATE d
            SET [Place] = p.[Place]
            FROM @_Placed AS p
            INNER JOIN @_Due AS d
                ON {{ item.same(t, "d", "p") }}
            OPTION (LOOP JOIN, FORCE ORDER);
        END;
