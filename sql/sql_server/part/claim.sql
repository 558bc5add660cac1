        /*
        Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
        update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
        another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
        take.
{%- if t.witness %}
        {{ called.witness }} is in no index: reading it visits the row itself and so locks it, not just a key of the index.
{%- endif %}
        */
        DELETE FROM @_Change;
        SET @_Take = @Max;
{%- if t.by_type %}
        /*
        The caller's types, each sought by itself, first the one whose head has been due longest: what waits of
        other types is neither read nor locked.
        */
        INSERT INTO @_OwnTypes ([Type], [Head])
        SELECT
            y.[Type],
            h.{{ role.due }}
        FROM {{ object(queue ~ "Type") }} AS y
        CROSS APPLY (
            SELECT TOP (1) q.{{ role.due }}
            FROM {{ table }} AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }}))
            WHERE
                q.{{ role.kind }} = y.[Type]
                AND {{ item.waits(t) }}
                AND q.{{ role.due }} <= @_At
            ORDER BY
{%- for c in due_columns %}
                q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ "," if not loop.last }}
{%- endfor %}
        ) AS h
        WHERE {% filter indent(8) %}{% include "part/type_list.sql" %}{% endfilter %};

        SET @_Locked = 0;
        WHILE @_Take > 0 AND EXISTS (SELECT 1 FROM @_OwnTypes)
        BEGIN
            SET @_OwnType = (SELECT TOP (1) o.[Type] FROM @_OwnTypes AS o ORDER BY o.[Head], o.[Type]);
            DELETE FROM @_OwnTypes WHERE [Type] = @_OwnType;
{%- set when_due = "q." ~ role.due ~ " <= @_At" %}

{% filter indent(4, true) %}{% include "part/take_due.sql" %}{% endfilter %}
            SET @_Take = @_Take - @@ROWCOUNT;
        END;
        SET @_Locked = @Max - @_Take;
{%- elif t.due_leads and role.due and not own %}
{%- set when_due = "q." ~ role.due ~ " IS NULL" %}
{% include "part/take_due.sql" %}
        SET @_Locked = @@ROWCOUNT;

        SET @_Take = @Max - @_Locked;
        IF @_Take > 0
        BEGIN
{#- A datetime column beside a datetime2 would be converted row by row, and come out of its index in no order to rely on. -#}
{%- set when_due = "q." ~ role.due ~ " <= CAST(DATEADD(MICROSECOND, 1700, @_At) AS datetime) /* no less than @_At */\n            AND DATEDIFF_BIG(MICROSECOND, q." ~ role.due ~ ", @_At) >= 0" %}
{% filter indent(4, true) %}{% include "part/take_due.sql" %}{% endfilter %}
            SET @_Locked = @_Locked + @@ROWCOUNT;
        END;
{%- else %}
{%- set when_due = "q." ~ role.due ~ " <= @_At" if own else "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= @_At)" if role.due else "" %}
{% include "part/take_due.sql" %}
        SET @_Locked = @@ROWCOUNT;
{%- endif %}

        IF @_Locked > 0
        BEGIN
            /*
            What came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
            such item, or with it where it is the first of all. The others are let go with the transaction.
            */
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
            SET @_Alone = (SELECT MIN(d.[Seq]) FROM @_Due AS d WHERE d.[Alone] = 1 AND d.[AttemptNum] < @_MaxAttempts);
            IF @_Alone IS NOT NULL
            BEGIN
                IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[Seq] < @_Alone AND d.[AttemptNum] < @_MaxAttempts)
                    SET @_Alone = @_Alone - 1;

                DELETE FROM @_Due WHERE [Seq] > @_Alone AND [AttemptNum] < @_MaxAttempts;
            END;
{%- if beside %}

            /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
            INSERT INTO @_Change (
                {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [LeaseOwner], [LeaseUntil], [Before]
            )
            SELECT
                {{ item.list(t, "d") }},
                'Pending',
                CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN 'Failed' ELSE 'Processing' END,
                CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN x.[AttemptNum] ELSE x.[AttemptNum] + 1 END,
                {{ item.later(t, "x.[Token]") }},
                s.[Step],
                s.[Response],
                CASE
                    WHEN x.[AttemptNum] >= @_MaxAttempts
                        THEN CONCAT(N'Attempts are spent: ', x.[AttemptNum], N' of ', @_MaxAttempts, N'.')
                    ELSE s.[Error]
                END,
                CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN @_Now END,
                CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN @_Now END,
                CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN @Worker END,
                CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
                s.[UpdatedAt]
            FROM @_Due AS d
            LEFT JOIN {{ t.lease }} AS s
                ON {{ item.kept_for(t, "d") }}
            CROSS APPLY (
                SELECT
                    {{ "d.[AttemptNum]" if role.attempts else "COALESCE(s.[AttemptNum], 0)" }} AS [AttemptNum],
                    {{ "d.[Token]" if role.token else "s.[UpdatedAt]" }} AS [Token]
            ) AS x
            OPTION (LOOP JOIN, FORCE ORDER);
{%- set completes = false %}
{%- set guard = pending %}

{% filter indent(4, true) %}{% include "part/apply.sql" %}{% endfilter %}
{%- else %}

            UPDATE @_Due SET [Token] = {{ item.later(t, "[Token]") }};

            UPDATE q
            SET
{{- write.assignments(t, ["due", "duration", "finished", "step", "response", "error"]) }}
            FROM @_Due AS d
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "d") }}
            CROSS APPLY (
                SELECT
{{- write.change("Pending", "Processing", "d.[AttemptNum] + 1", "d.[Token]", owner="@Worker", until="DATEADD(MILLISECOND, @LeaseMs, @_Now)") }}
            ) AS w
            WHERE
                d.[AttemptNum] < @_MaxAttempts
                AND {{ item.waits(t) }}
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;

            IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] >= @_MaxAttempts)
            BEGIN
                /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                UPDATE q
                SET
{{- write.assignments(t, ["due", "duration", "started", "step", "response", "attempts"]) }}
                FROM @_Due AS d
                INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                    ON {{ item.found(t, "d") }}
                CROSS APPLY (
                    SELECT
{{- write.change("Pending", "Failed", "d.[AttemptNum]", "d.[Token]", error="CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.')", finished="@_Now") }}
                ) AS w
                WHERE
                    d.[AttemptNum] >= @_MaxAttempts
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
