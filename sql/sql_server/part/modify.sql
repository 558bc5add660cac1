{%- if beside %}
{% include "part/judge_items.sql" %}{% include "part/set.sql" %}

        INSERT INTO @_Change (
            {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
            [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
        )
        SELECT
            {{ item.list(t, "i") }},
{% filter replace("\n    ", "\n") %}{% include "part/modify_values.sql" %}{% endfilter %},
            s.[UpdatedAt]
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q
            ON {{ item.found(t, "i") }}
        LEFT JOIN {{ t.lease }} AS s
            ON {{ item.kept_for(t, "i") }}
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- import "part/apply.sql" as change %}
{{ change.apply(completes=true) }}
{%- if role.token %}

        UPDATE k
        SET [Token] = c.[Token]
        FROM @_Work AS k
        INNER JOIN @_Item AS i
            ON i.[Ordinal] = k.[Ordinal]
        INNER JOIN @_Change AS c
            ON {{ item.same(t, "c", "i") }}
        WHERE k.[Answer] = 'OK';
{%- endif %}
{%- else %}
{% include "part/judge_items.sql" %}{% include "part/set.sql" %}

        UPDATE q
        SET
{{- write.assignments(t) }}
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "i") }}
        CROSS APPLY (
            SELECT
{% include "part/modify_values.sql" %}
        ) AS w
        WHERE k.[Answer] = 'OK'{{ " AND k.[Status] <> 'Completed'" if completion == "delete" }}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Written = @@ROWCOUNT;
{%- if not own %}

        /* As the column keeps it. */
        UPDATE k
        SET [Token] = q.{{ role.token }}
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q
            ON {{ item.found(t, "i") }}
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if completion != "keep" %}
{%- import "part/complete.sql" as complete %}
{{ complete.completed("(SELECT " ~ item.list(t, "i") ~ ", k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK')") }}
{%- endif %}

        IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- endif %}
{%- include "part/set_subtypes.sql" %}
{%- include "part/record_attempts.sql" %}
