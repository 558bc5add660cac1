{#- An item as a settlement makes it: k is its verdict, i what was given, q and s the item as it is. -#}
{%- set begins = "k.[Was] <> 'Processing' AND k.[Status] = 'Processing'" %}
{%- set due %}i.[DueAt]{% if backoff %},
{% filter indent(16, true) %}{% include "part/backoff.sql" %}{% endfilter %}{% endif %}{% endset %}
{%- set until %}{% if lease_sliding %}CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END
{%- else %}CASE /* The lease is fixed: a step goes on with what is left of it. */
                WHEN k.[Status] = 'Processing' AND k.[Was] = 'Processing' THEN {{ item.until(t, "@_SilentMs") }}
                WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now)
            END{% endif %}{% endset %}
{%- set settles = {
    "status": "k.[Status]", "started": begins, "attempts": "k.[AttemptNum]", "token": "k.[Token]",
    "step": "i.[Step]", "response": "i.[Response]", "error": "i.[Error]", "lease_until": until,
    "due": "COALESCE(\n                " ~ due ~ "\n            )" if backoff else due,
    "finished": "CASE WHEN " ~ item.finished("k.[Status]") ~ " THEN @_Now END",
    "duration": "CASE\n                WHEN " ~ item.finished("k.[Status]")
        ~ "\n                    THEN DATEDIFF_BIG(MILLISECOND, " ~ item.started(t) ~ ", @_Now)\n            END",
    "spent": "k.[Status] = 'Failed' AND i.[Status] <> 'Failed'",
    "spent_error": "CONCAT(N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.')",
    "is": {"owner": "CASE WHEN " ~ begins ~ " THEN @Worker ELSE " ~ item.kept(t, "q." ~ role.owner) ~ " END"} if role.owner else {},
} %}
{% include "part/judge_items.sql" %}{% include "part/set.sql" %}
{%- if beside %}

        INSERT INTO @_Change (
            {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
            [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
        )
        SELECT
            {{ item.list(t, "i") }},
            k.[Was], k.[Status], k.[AttemptNum], k.[Token],
            COALESCE(i.[Step], {{ item.step(t) }}),
            COALESCE(i.[Response], {{ item.response(t) }}),
            CASE
                WHEN i.[Error] IS NOT NULL THEN i.[Error]
                WHEN {{ settles.spent }}
                    THEN {{ settles.spent_error }}
                /* Earlier errors are over. */
                WHEN k.[Status] = 'Completed' THEN NULL
                ELSE {{ item.error(t) }}
            END,
            CASE
                WHEN {{ begins }} THEN @_Now
                ELSE {{ item.started(t) }}
            END,
            {{ settles.finished }},
            {{ settles.duration }},
            COALESCE(
                {{ due }},
                /* An item that failed is due again: its row beside says when, or nobody finds it. */
                CASE WHEN k.[Status] = 'Error'{{ " AND k.[Was] <> 'Error'" if not role.due }} THEN {{ item.due_at(t) if role.due else "@_Now" }}{{ " ELSE s.[DueAt]" if not role.due }} END
            ),
            CASE WHEN {{ begins }} THEN @Worker ELSE {{ item.owner(t) }} END,
            {{ until }},
            s.[UpdatedAt]
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q
            ON {{ item.found(t, "i") }}
        LEFT JOIN {{ t.lease }} AS s
            ON {{ item.kept_for(t, "i") }}
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- import "macro/apply.sql" as change %}
{{ change.apply(completes=true, enters=true) }}
{%- if role.token %}

        UPDATE k
        SET [Token] = c.[Token]
        FROM @_Work AS k
        INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal]
        INNER JOIN @_Change AS c
            ON {{ item.same(t, "c", "i") }}
        WHERE k.[Answer] = 'OK';
{%- endif %}
{%- else %}

        UPDATE q
        SET
{{- write.assignments(t, settles) }}
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "i") }}
        WHERE k.[Answer] = 'OK'{{ " AND k.[Status] <> 'Completed'" if completion == "delete" }}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Written = @@ROWCOUNT;
{%- if not own %}

        /* As the column keeps it. */
        UPDATE k
        SET [Token] = q.{{ role.token }}
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q
            ON {{ item.found(t, "i") }}
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if completion != "keep" %}
{%- import "macro/complete.sql" as complete %}
{{ complete.completed("(SELECT " ~ item.list(t, "i") ~ ", k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK')") }}
{%- endif %}

        IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- endif %}
{%- include "part/set_subtypes.sql" %}
{%- include "part/record_attempts.sql" %}
