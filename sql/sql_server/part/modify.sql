{%- import "part/set_value.sql" as value -%}
{%- if beside %}
{% include "part/judge_items.sql" %}{% include "part/set.sql" %}

        INSERT INTO @_Change (
            {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
            [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
        )
        SELECT
            {{ item.list(t, "i") }},
{% filter replace("\n    ", "\n") | replace("                k.[Was]", "            k.[Was]") %}{% include "part/modify_values.sql" %}{% endfilter %},
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
{%- if own or not attempt_history %}
        /*
        One item of a worker, as it mostly is, with nothing of its own to set: the fence stands in the WHERE, so one update
        is judge and writer. Whatever it passes over is judged below.
        */
        IF @_Count = 1 AND @_Sets = 0
        BEGIN
            UPDATE q
            SET
{{- write.assignments(t) }}
            FROM @_Item AS i
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "i") }}
            INNER JOIN {{ object("QueueTransition") }} AS t
                ON t.[FromStatus] = 'Processing' AND t.[ToStatus] = i.[Status]
            CROSS APPLY (
                SELECT
                    'Processing' AS [Is],
                    i.[Status] AS [To],
                    i.[Release],
                    i.[DueAt],
                    {{ item.attempts(t) }} AS [AttemptNum],
                    {{ item.token(t) }} AS [Token]
            ) AS x
            CROSS APPLY (
                SELECT
                    x.[Is] AS [Was],
                    {{ judge.status(false) }} AS [Status],
                    {{ judge.attempts() }} AS [AttemptNum],
                    {{ item.later(t, "x.[Token]") }} AS [Token]
            ) AS k
            CROSS APPLY (
                SELECT
{% include "part/modify_values.sql" %}
            ) AS w
            WHERE
                i.[Attempt] > 0
                AND {{ item.stands(processing) }}
                AND {{ item.owner(t) }} = @Worker
                AND {{ item.attempts(t) }} = i.[Attempt]
                AND {{ item.token(t) }} = i.[Token]
{%- if steps %}
                AND (i.[Step] IS NULL OR i.[Step] IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %}))
{%- endif %}
{%- if completion == "delete" %}
                AND i.[Status] <> 'Completed'
{%- endif %}
{%- if own_types_only %}
                AND {% filter indent(16) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;

            IF @_Written = 1
                INSERT INTO @_Work (
                    [Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum]
                    {{- ", [Owner], [StartedAt], [Step]" if attempt_history }}
                )
                SELECT
                    i.[Ordinal], 'OK', 'Processing', {{ item.status(t) }}, {{ item.token(t) }}, {{ item.attempts(t) }}
{%- if attempt_history %},
                    @Worker, {{ item.started(t) }}, {{ item.step(t) }}
{%- endif %}
                FROM @_Item AS i
                INNER JOIN {{ table }} AS q
                    ON {{ item.found(t, "i") }}
                OPTION (LOOP JOIN, FORCE ORDER);
        END;
{%- endif %}

        IF @_Written = 0
        BEGIN
{% filter indent(4, true) %}{% include "part/judge_items.sql" %}{% include "part/set.sql" %}{% endfilter %}

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
        END;
{%- if completion != "keep" %}
{%- import "part/complete.sql" as complete %}
{{ complete.completed("(SELECT " ~ item.list(t, "i") ~ ", k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK')") }}
{%- endif %}

        IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- endif %}
{%- include "part/set_subtypes.sql" %}
{%- include "part/record_attempts.sql" %}
