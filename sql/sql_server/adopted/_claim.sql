        /*
        Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
        update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
        another worker.
{%- if witness %}
        {{ called.witness }} is in no index: reading it visits the row itself and so locks it, not just a key of the index.
{%- endif %}
        */
        DELETE FROM @Change;
{%- set more = false %}
{%- if due_leads and role.due %}
{%- set when_due = "q." ~ role.due ~ " IS NULL" %}
{% include "adopted/_claim_lock.sql" %}
        SET @Locked = @@ROWCOUNT;

        IF @Locked < @Max
        BEGIN
{#- A datetime column beside a datetime2 would be converted row by row, and come out of its index in no order to rely on. -#}
{%- set when_due = "q." ~ role.due ~ " <= CAST(DATEADD(MICROSECOND, 1700, @At) AS datetime) /* no less than @At */\n            AND DATEDIFF_BIG(MICROSECOND, q." ~ role.due ~ ", @At) >= 0" %}
{%- set more = true %}
{% filter indent(4, true) %}{% include "adopted/_claim_lock.sql" %}{% endfilter %}
            SET @Locked = @Locked + @@ROWCOUNT;
        END;
{%- else %}
{%- set when_due = "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= @At)" if role.due else "" %}
{% include "adopted/_claim_lock.sql" %}
        SET @Locked = @@ROWCOUNT;
{%- endif %}

        IF @Locked > 0
        BEGIN
            /*
            What came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
            such item, or with it where it is the first of all. The others are let go with the transaction. Which they
            are is kept beside the table, and read now that nobody changes it any more.
            */
            UPDATE d
            SET
                [Alone] = {{ n.died() }}{% if not role.attempts %},
                [AttemptNum] = s.[AttemptNum]{% endif %}
            FROM @Due AS d
            INNER JOIN {{ object(queue ~ "_Lease") }} AS s
                ON {{ n.same(key, "s", "d") }}
            OPTION (LOOP JOIN, FORCE ORDER);

            SET @Alone = (SELECT MIN(d.[Seq]) FROM @Due AS d WHERE d.[Alone] = 1 AND d.[AttemptNum] < @MaxAttempts);
            IF @Alone IS NOT NULL
            BEGIN
                IF EXISTS (SELECT 1 FROM @Due AS d WHERE d.[Seq] < @Alone AND d.[AttemptNum] < @MaxAttempts)
                    SET @Alone = @Alone - 1;

                DELETE FROM @Due WHERE [Seq] > @Alone AND [AttemptNum] < @MaxAttempts;
            END;

            /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
            INSERT INTO @Change (
                {{ n.names(key) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [LeaseOwner], [LeaseUntil], [Before]
            )
            SELECT
                {{ n.list(key, "x") }},
                'Pending',
                CASE WHEN x.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Processing' END,
                CASE WHEN x.[AttemptNum] >= @MaxAttempts THEN x.[AttemptNum] ELSE x.[AttemptNum] + 1 END,
                x.[Token],
                x.[Step],
                x.[Response],
                CASE
                    WHEN x.[AttemptNum] >= @MaxAttempts
                        THEN CONCAT(N'Attempts are spent: ', x.[AttemptNum], N' of ', @MaxAttempts, N'.')
                    ELSE x.[Error]
                END,
                CASE WHEN x.[AttemptNum] < @MaxAttempts THEN @Now END,
                CASE WHEN x.[AttemptNum] >= @MaxAttempts THEN @Now END,
                CASE WHEN x.[AttemptNum] < @MaxAttempts THEN @Worker END,
                CASE WHEN x.[AttemptNum] < @MaxAttempts THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END,
                x.[Before]
            FROM (
                SELECT
                    {{ n.list(key, "d") }},
                    {% if role.attempts %}d.[AttemptNum]{% else %}COALESCE(s.[AttemptNum], 0) AS [AttemptNum]{% endif %},
                    {{ n.later("d.[Token]" if role.token else "s.[UpdatedAt]", "@At" if role.token else "@Now") }} AS [Token],
                    s.[Step],
                    s.[Response],
                    s.[Error],
                    s.[UpdatedAt] AS [Before]
                FROM @Due AS d
                LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
                    ON {{ n.same(key, "s", "d") }}
            ) AS x
            OPTION (LOOP JOIN, FORCE ORDER);
{%- set guard = pending %}
{%- set completes = false %}

{% filter indent(4, true) %}{% include "adopted/_write.sql" %}{% endfilter %}
        END;
