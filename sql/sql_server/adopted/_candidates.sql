        /*
        Which items are to be looked at. The searches take no update locks: they may pass many items in flight whose
        leases are good, and no worker shall wait for them.
        */
        DELETE FROM @Change;
        DELETE FROM @Candidate;
        IF @Recover > 0
        BEGIN
            INSERT INTO @Candidate ({{ n.names(key) }}, [StartedAt])
            SELECT TOP (@RecoverMax) {{ n.list(key, "s") }}, s.[StartedAt]
            FROM {{ object(queue ~ "_Lease") }} AS s
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_InFlight]))
            WHERE
                s.[Status] = 'Processing'
                AND s.[LeaseUntil] <= @Now
            ORDER BY s.[StartedAt];

            IF @@ROWCOUNT = @RecoverMax
                /* All that is left of the last claim: a chunk must not split one. */
                INSERT INTO @Candidate ({{ n.names(key) }}, [StartedAt])
                SELECT {{ n.list(key, "s") }}, s.[StartedAt]
                FROM {{ object(queue ~ "_Lease") }} AS s
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_InFlight]))
                WHERE
                    s.[Status] = 'Processing'
                    AND s.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @Candidate AS c)
                    AND s.[LeaseUntil] <= @Now
                    AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE {{ n.same(key, "c", "s") }});
{%- if foreign %}

            /* What somebody else took, so that no row beside the table has it in work, and left for a lease's time. */
            INSERT INTO @Candidate ({{ n.names(key) }})
            SELECT TOP (@RecoverMax) {{ n.list(key, "q") }}
            FROM {{ table }} AS q
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Due" if in_flight_is_due else "InFlight" }}]))
            WHERE
                {{ n.stands(processing) }}
                AND q.{{ role.started }} <= CAST(DATEADD(MILLISECOND, -@SilentMs, @At) AS datetime)
                AND NOT EXISTS (
                    SELECT 1 FROM {{ object(queue ~ "_Lease") }} AS s
                    WHERE {{ n.same(key, "s", "q") }} AND s.[Status] <> 'Pending'
                )
                AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE {{ n.same(key, "c", "q") }})
            ORDER BY q.{{ role.started }};
{%- endif %}
{%- if shows_errors %}

            /* What somebody else has set to Error, so that no row beside the table says when to try it again. */
            INSERT INTO @Candidate ({{ n.names(key) }})
            SELECT TOP (@RecoverMax) {{ n.list(key, "q") }}
            FROM {{ table }} AS q
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Due" if errors_are_due else "Error" }}]))
            WHERE
                {{ n.stands(errors) }}
{%- if role.due %}
                AND (q.{{ role.due }} IS NULL OR q.{{ role.due }} <= @At)
{%- endif %}
                AND NOT EXISTS (
                    SELECT 1 FROM {{ object(queue ~ "_Lease") }} AS s
                    WHERE
                        {{ n.same(key, "s", "q") }}
                        AND s.[Status] = 'Error'
                        AND s.[DueAt] {{ "<= @Now" if role.due else "IS NOT NULL" }}
                )
                AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE {{ n.same(key, "c", "q") }});
{%- endif %}
        END;
{%- if resume_own %}

        /* A worker that begins anew takes up at once what it left. */
        IF @Recover = 2
        BEGIN
            INSERT INTO @Candidate ({{ n.names(key) }})
            SELECT TOP (1000) {{ n.list(key, "s") }}
            FROM {{ object(queue ~ "_Lease") }} AS s
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_InFlight]))
            WHERE
                s.[Status] = 'Processing'
                AND s.[LeaseOwner] = @Worker
                AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE {{ n.same(key, "c", "s") }})
            ORDER BY s.[StartedAt];
{%- if foreign and role.owner %}

            INSERT INTO @Candidate ({{ n.names(key) }})
            SELECT TOP (1000) {{ n.list(key, "q") }}
            FROM {{ table }} AS q
                WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Due" if in_flight_is_due else "InFlight" }}]))
            WHERE
                {{ n.stands(processing) }}
                AND q.{{ role.owner }} = @Worker
                AND NOT EXISTS (
                    SELECT 1 FROM {{ object(queue ~ "_Lease") }} AS s
                    WHERE {{ n.same(key, "s", "q") }} AND s.[Status] <> 'Pending'
                )
                AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE {{ n.same(key, "c", "q") }});
{%- endif %}
        END;
{%- endif %}
{%- if parks_errors %}

        /* Whose next attempt is due. */
        INSERT INTO @Candidate ({{ n.names(key) }})
        SELECT TOP (1000) {{ n.list(key, "s") }}
        FROM {{ object(queue ~ "_Lease") }} AS s
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_Waiting]))
        WHERE
            s.[Status] = 'Error'
            AND s.[DueAt] <= @Now
            AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE {{ n.same(key, "c", "s") }})
        ORDER BY s.[DueAt];
{%- endif %}
        SET @Searched = (SELECT COUNT(*) FROM @Candidate);
        IF @Searched > 0 AND @Recover > 0
            /*
            Of what was claimed together, nobody knows which was begun. Read without locks: another recovery may have
            the rest of it in hands.
            */
            UPDATE c
            SET [Together] = 1
            FROM @Candidate AS c
            INNER JOIN {{ object(queue ~ "_Lease") }} AS s WITH (READUNCOMMITTED)
                ON {{ n.same(key, "s", "c") }}
            WHERE
                s.[Status] = 'Processing'
                AND EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_Lease") }} AS o WITH (READUNCOMMITTED, INDEX ([IX_{{ queue }}_Lease_InFlight]))
                    WHERE
                        o.[Status] = 'Processing'
                        AND o.[StartedAt] = s.[StartedAt]
                        AND o.[LeaseOwner] = s.[LeaseOwner]
                        AND NOT ({{ n.same(key, "o", "s") }})
                )
            OPTION (LOOP JOIN, FORCE ORDER);
