{%- import "macro/limit.sql" as limit -%}
{%- set rates = limits | selectattr("rate") | list -%}
{%- set spent = "CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.', N' ' + d.[Refused])" %}
{%- if expires %}
{%- set spent = "CASE\n                WHEN d.[Expired] IS NOT NULL\n                    THEN CONCAT(N'Not begun by ', CONVERT(nvarchar(30), d.[Expired], 126), N'Z, when it expired.')\n                ELSE " ~ spent ~ "\n            END" %}
{%- set ended = "CASE WHEN d.[Expired] IS NOT NULL THEN 'Cancelled' ELSE 'Failed' END" %}
{%- endif %}
{%- if t.staged %}
{% include "part/stage.sql" %}

{% endif %}        /*
        Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
        update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
        another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
        take.
{%- if t.witness %}
        {{ called.witness }} is in no index: reading it visits the row itself and so locks it, not just a key of the index.
{%- endif %}
        */
{%- if beside %}
        DELETE FROM @_Change;
{%- endif %}{% set place = "COALESCE(d.[Place], d.[Seq])" if kind_searches or sought else "d.[Seq]" %}
        SET @_Take = @Max;
{%- if sought %}
{%- include "part/claim_limited.sql" %}
{%- endif %}
{%- for search in kind_searches %}
{%- set guarded = not loop.last or searches_all %}
{%- if guarded %}
        IF {{ kind.given(search) }}
        BEGIN
{% filter indent(4, true) %}{% include "part/claim_kinds.sql" %}{% endfilter %}
        END
        ELSE
        BEGIN
{%- else %}
{% include "part/claim_kinds.sql" %}
{%- endif %}
{%- endfor %}
{%- if searches_all and not sought %}
{%- filter indent(4 if kind_searches else 0, true) %}{% include "part/claim_all.sql" %}{% endfilter %}
{%- endif %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
        END;
{%- endif %}
{%- endfor %}

        IF @_Locked > 0
        BEGIN
{%- if beside %}
            UPDATE d
            SET
                [Alone] = {{ item.died(t) }}{% if not role.attempts %},
                [AttemptNum] = s.[AttemptNum]{% endif %}
            FROM @_Due AS d
            INNER JOIN {{ t.lease }} AS s
                ON {{ item.kept_for(t, "d") }}
            OPTION (LOOP JOIN, FORCE ORDER);
{% endif %}
            /* Refusals have spent the attempts of these: they end, unless the table refuses that, too. */
            IF @_Refuses = 1
                UPDATE d
                SET
                    [AttemptNum] = CASE WHEN d.[AttemptNum] < @_MaxAttempts THEN @_MaxAttempts ELSE d.[AttemptNum] END,
                    [Refused] = CONCAT(N'The table refused it ', r.[Attempts], N' times: ', r.[Reason])
                FROM @_Due AS d
                INNER JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = '{{ queue }}'
                        AND r.[Key] = {{ item.kept_key(t, "d") }}
                WHERE r.[Attempts] > 0 AND d.[AttemptNum] + r.[Attempts] >= @_MaxAttempts
                OPTION (LOOP JOIN, FORCE ORDER);
{%- if expires %}

            UPDATE d
            SET [Expired] = q.{{ expires }}
            FROM @_Due AS d
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "d") }}
            WHERE q.{{ expires }} <= @_Now
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

            /*
            An item that came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
            such item, or with it where it is the first of all. The others are let go with the transaction.
            */
            SET @_Alone = (SELECT MIN({{ place }}) FROM @_Due AS d WHERE d.[Alone] = 1 AND {{ goes }});
            IF @_Alone IS NOT NULL
            BEGIN
                IF EXISTS (SELECT 1 FROM @_Due AS d WHERE {{ place }} < @_Alone AND {{ goes }})
                    SET @_Alone = @_Alone - 1;

                DELETE FROM @_Due WHERE {{ place | replace("d.", "") }} > @_Alone AND {{ goes | replace("d.", "") }};
            END;
{%- if beside %}

            /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
            INSERT INTO @_Change (
                {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [DueAt], [LeaseOwner], [LeaseUntil], [Before]{{ ", [ClaimNum]" if marks_claims }}
            )
            SELECT
                {{ item.list(t, "d") }},
                'Pending', CASE WHEN {{ ends_here | replace("d.[AttemptNum]", "x.[AttemptNum]") }} THEN {{ ended if expires else "'Failed'" }} ELSE 'Processing' END,
                CASE WHEN {{ ends_here | replace("d.[AttemptNum]", "x.[AttemptNum]") }} THEN x.[AttemptNum] ELSE x.[AttemptNum] + 1 END,
                {{ item.later(t, "x.[Token]") }},
                s.[Step], s.[Response],
                CASE
                    WHEN {{ ends_here | replace("d.[AttemptNum]", "x.[AttemptNum]") }}
                        THEN {{ spent }}
                    ELSE s.[Error]
                END,
                CASE WHEN {{ goes | replace("d.[AttemptNum]", "x.[AttemptNum]") }} THEN @_Now END,
                CASE WHEN {{ ends_here | replace("d.[AttemptNum]", "x.[AttemptNum]") }} THEN @_Now END,
                {{ "CAST(NULL AS datetime2(7))" if role.due else "s.[DueAt]" }},
                CASE WHEN {{ goes | replace("d.[AttemptNum]", "x.[AttemptNum]") }} THEN @Worker END,
                CASE WHEN {{ goes | replace("d.[AttemptNum]", "x.[AttemptNum]") }} THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
                s.[UpdatedAt]{% if marks_claims %},
                CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END{% endif %}
            FROM @_Due AS d
            LEFT JOIN {{ t.lease }} AS s
                ON {{ item.kept_for(t, "d") }}
            CROSS APPLY (
                SELECT
                    d.[AttemptNum],
                    {{ "d.[Token]" if role.token else "s.[UpdatedAt]" }} AS [Token]
            ) AS x
            OPTION (LOOP JOIN, FORCE ORDER);
{%- import "macro/apply.sql" as change %}
{{ change.apply(guard=pending, enters=true) | indent(4, true) }}
{%- if rates %}
{% include "part/limit_spend.sql" %}
{%- endif %}
{%- else %}

            UPDATE @_Due SET [Token] = {{ item.later(t, "[Token]") }};

            UPDATE q
            SET
{%- set claims = {
    "to": "Processing", "started": "always", "attempts": "d.[AttemptNum] + 1", "token": "d.[Token]", "is": {"owner": "@Worker"},
    "lease_until": "DATEADD(MILLISECOND, @LeaseMs, @_Now)",
} %}
{{- write.assignments(t, claims) | indent(4) }}
{%- if marks_claims %},
                [ClaimNum] = CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
{%- endif %}
            FROM @_Due AS d
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "d") }}
            WHERE
                {{ goes }}
                AND {{ item.waits(t) }}
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;
{%- if rates %}
{% include "part/limit_spend.sql" %}
{%- endif %}

            IF EXISTS (SELECT 1 FROM @_Due AS d WHERE {{ ends_here }})
            BEGIN
                /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                UPDATE q
                SET
{%- set ends = {
    "to": "Failed", "token": "d.[Token]", "finished": "@_Now",
    "error": spent,
    "is": {"lease_until": "NULL"},
} if not expires else {
    "status": ended, "token": "d.[Token]", "finished": "@_Now", "error": spent,
    "is": {"lease_until": "NULL", "error": write.message(t, spent)},
} %}
{{- write.assignments(t, ends) | indent(8) }}
                FROM @_Due AS d
                INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                    ON {{ item.found(t, "d") }}
                WHERE
                    {{ ends_here }}
                    AND {{ item.waits(t) }}
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @_Written + @@ROWCOUNT;
            END;

            IF @_Written <> (SELECT COUNT(*) FROM @_Due)
                THROW 50005, N'{{ queue }}: a row that was locked for the claim changed all the same.', 1;
{%- if not own %}

            /* As the column keeps it. */
            UPDATE d
            SET [Token] = q.{{ role.token }}
            FROM @_Due AS d
            INNER JOIN {{ table }} AS q
                ON {{ item.found(t, "d") }}
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- endif %}
        END;
