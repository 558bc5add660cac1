        /*
        Items to be looked at. The searches take no update locks: they may pass many items in flight whose
        leases are good, and no worker shall wait for them.
        */
        DELETE FROM @_Change; DELETE FROM @_Candidate;
        /* Those that are left aside are no candidates, and take the place of none. */
        SET @_RecoverMax = {{ "CASE WHEN @Recover = 2 THEN 1000 ELSE @Max END" if resume_own else "@Max" }} + (
            SELECT COUNT(*) FROM {{ object("QueueRefused") }} AS r WHERE r.[Queue] = '{{ queue }}' AND r.[Until] > @_Now
        );
        IF @Recover > 0
        BEGIN
            INSERT INTO @_Candidate ({{ item.names(t) }}, [StartedAt])
            SELECT TOP (@_RecoverMax) {{ flight.key(t) }}, {{ flight.began(t) }}
            {{ flight.from(t, queue) }}
                AND {{ flight.over(t) }}
            ORDER BY {{ flight.ordered(t) }};

            IF @@ROWCOUNT = @_RecoverMax
                /* All that is left of the last claim: a chunk must not split one. */
                INSERT INTO @_Candidate ({{ item.names(t) }}, [StartedAt])
                SELECT {{ flight.key(t) }}, {{ flight.began(t) }}
                {{ flight.from(t, queue) | indent(4) }}
                    AND {{ flight.began(t) }} = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c)
                    AND {{ flight.over(t) }}
                    AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE {{ flight.is(t, "c") }})
                OPTION (LOOP JOIN, FORCE ORDER);
{%- if t.foreign and beside %}

            /* Items that somebody else took, so that no row beside the table has it in work, and left for a lease's time. */
            INSERT INTO @_Candidate ({{ item.names(t) }})
            SELECT TOP (@_RecoverMax) {{ item.of_item(t) }}
            FROM {{ table }} AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Due" if in_flight_is_due else "InFlight" }}]))
            WHERE
                {{ item.stands(processing) }}
                AND q.{{ role.started }} <= CAST(DATEADD(MILLISECOND, -@_SilentMs, {{ at }}) AS datetime)
                AND NOT EXISTS (
                    SELECT 1 FROM {{ t.lease }} AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE {{ item.kept_of(t) }} AND s.[Status] <> 'Pending'
                )
                AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE {{ item.found(t, "c") }})
            ORDER BY q.{{ role.started }}
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if t.shows_errors %}

            /* Items that somebody else has set to Error, so that no row beside the table says when to try it again. */
            INSERT INTO @_Candidate ({{ item.names(t) }})
            SELECT TOP (@_RecoverMax) {{ item.of_item(t) }}
            FROM {{ table }} AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Due" if errors_are_due else "Error" }}]))
            WHERE
                {{ item.stands(errors) }}
{%- if role.due %}
                AND (q.{{ role.due }} IS NULL OR q.{{ role.due }} <= {{ at }})
{%- endif %}
                AND NOT EXISTS (
                    SELECT 1 FROM {{ t.lease }} AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE
                        {{ item.kept_of(t) }}
                        AND s.[Status] = 'Error'
                        AND s.[DueAt] {{ "<= @_Now" if role.due else "IS NOT NULL" }}
                )
                AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE {{ item.found(t, "c") }})
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

            /* There may be more of them: the next who comes goes on at once. */
            SET @_Over = CASE WHEN (SELECT COUNT(*) FROM @_Candidate) < @_RecoverMax THEN @_Dead END;
            IF @_MyTurn = 1 AND (@_Dead IS NOT NULL OR (SELECT COUNT(*) FROM @_Candidate) >= @_RecoverMax)
                EXECUTE {{ object("QueueRecoveryGoesOn") }} '{{ queue }}', @_Over;
        END;
{%- if resume_own and t.foreign and beside and role.owner %}
        IF @Recover = 2
            INSERT INTO @_Candidate ({{ item.names(t) }})
            SELECT TOP (1000) {{ item.of_item(t) }}
            FROM {{ table }} AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Due" if in_flight_is_due else "InFlight" }}]))
            WHERE
                {{ item.stands(processing) }}
                AND q.{{ role.owner }} = @Worker
                AND NOT EXISTS (
                    SELECT 1 FROM {{ t.lease }} AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE {{ item.kept_of(t) }} AND s.[Status] <> 'Pending'
                )
                AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE {{ item.found(t, "c") }})
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if t.parks_errors %}

        /* Items whose next attempt is due. */
        INSERT INTO @_Candidate ({{ item.names(t) }})
        SELECT TOP (@_RecoverMax) {{ item.of_kept(t) }}
        FROM {{ t.lease }} AS s
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_Waiting]))
        WHERE
            s.[Status] = 'Error' AND s.[DueAt] <= @_Now
            AND {{ flight.is_free(t) | replace("\n                ", "\n            ") }}
            AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE {{ item.kept_for(t, "c") }})
        ORDER BY s.[DueAt]
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
        DELETE c
        FROM @_Candidate AS c
        INNER JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
            ON
                r.[Queue] = '{{ queue }}'
                AND r.[Key] = {{ item.kept_key(t, "c") }}
                AND r.[Until] > @_Now
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Searched = (SELECT COUNT(*) FROM @_Candidate);
        IF @_Searched > 0 AND @Recover > 0
            /*
            Items that were claimed together: nobody knows which was begun. Read without locks: another recovery may have
            the rest of them in hands.
            */
            UPDATE c
            SET [Together] = 1
            FROM @_Candidate AS c
{%- if beside %}
            INNER JOIN {{ t.lease }} AS s WITH (READUNCOMMITTED)
                ON {{ item.kept_for(t, "c") }}
            WHERE
                s.[Status] = 'Processing'
                AND EXISTS (
                    SELECT 1
                    FROM {{ t.lease }} AS o WITH (READUNCOMMITTED, INDEX ([IX_{{ queue }}_Lease_InFlight]))
                    WHERE
                        o.[Status] = 'Processing' AND o.[StartedAt] = s.[StartedAt]
                        AND o.[LeaseOwner] = s.[LeaseOwner]
                        AND NOT ({% for k in t.key %}o.{{ k.kept }} = s.{{ k.kept }}{{ " AND " if not loop.last }}{% endfor %})
                )
{%- else %}
            INNER JOIN {{ table }} AS q WITH (READUNCOMMITTED)
                ON {{ item.found(t, "c") }}
            WHERE
                {{ item.stands(processing) }}
                AND EXISTS (
                    SELECT 1
                    FROM {{ table }} AS o WITH (READUNCOMMITTED, INDEX ([IX_{{ queue }}_InFlight]))
                    WHERE
                        {{ item.stands(processing, "o") }}
                        AND o.{{ role.started }} = q.{{ role.started }}
                        AND o.{{ role.owner }} = q.{{ role.owner }}
                        AND NOT ({% for k in t.key %}o.{{ k.quoted }} = q.{{ k.quoted }}{{ " AND " if not loop.last }}{% endfor %})
                )
{%- endif %}
            OPTION (LOOP JOIN, FORCE ORDER);
