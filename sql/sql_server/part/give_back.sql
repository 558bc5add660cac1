        IF @Recover > 0{{ " AND @Recover <> 2" if resume_own }}
            EXECUTE {{ object("QueueRecoveryTurn") }} '{{ queue }}', @_Now, @Recover OUTPUT, @_MyTurn OUTPUT, @_Dead OUTPUT;
{%- if resume_own %}
        /* A worker that begins anew takes up at once what it left. */
        IF @Recover = 2 SET @_Dead = @Worker;
{%- endif %}
        IF @_Each = 1
        BEGIN
            /* Those that the table refused together, one by one. */
            DELETE FROM @_Change;
            DELETE FROM @_Candidate;
            INSERT INTO @_Candidate ({{ item.names(t) }}, [Together])
            SELECT TOP (1) {{ item.list(t, "l") }}, l.[Together]
            FROM @_Left AS l
            ORDER BY l.[Seq];
            SET @_Searched = @@ROWCOUNT;
        END
        ELSE
        BEGIN
{% filter indent(4, true) %}{% include "part/candidates.sql" %}{% endfilter %}
        END;

        IF @_Searched > 0
        BEGIN
            /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
            INSERT INTO @_Change (
                {{ item.names(t) }},
{%- if beside %}
                [Was], [Response], [DueAt], [Before],{{ " [Row]," if presence and t.witness }}
{%- endif %}
                [Status], [AttemptNum], [Token], [Error],
{%- if beside or attempt_history %}
                [Step], [StartedAt], [LeaseOwner],
{%- endif %}
{%- if beside or role.finished %}
                [FinishedAt],
{%- endif %}
                [Duration], [LeaseUntil]
            )
            SELECT
                {{ item.list(t, "x") }},
{%- if beside %}
                x.[Is], x.[Response],
                {{ "CAST(NULL AS datetime2(7))" if role.due else "CASE WHEN x.[Is] = 'Processing' THEN @_Now ELSE x.[DueAt] END" }},
                x.[Before],{{ " x.[Row]," if presence and t.witness }}
                CASE
                    WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 AND x.[Ends] = 1 THEN 'Failed'
                    WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 THEN {{ "CASE WHEN @Within = 1 THEN 'Pending' ELSE 'Error' END" if t.parks_errors else "'Error'" }}
{%- if t.parks_errors %}
                    WHEN x.[Is] = 'Error' AND x.[DueAt] <= @_Now AND x.[Ends] = 1 AND x.[Refusals] > 0 THEN 'Failed'
                    WHEN x.[Is] = 'Error' AND x.[DueAt] <= @_Now THEN 'Pending'
{%- endif %}
                    ELSE x.[Is]
                END,
                x.[AttemptNum] - CASE WHEN x.[Is] = 'Processing' THEN x.[Together] ELSE 0 END,
{%- else %}
                CASE WHEN x.[Ends] = 1 THEN 'Failed' ELSE 'Error' END, x.[AttemptNum] - x.[Together],
{%- endif %}
                {{ item.later(t, "x.[Token]") }},
                CASE
                    WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                        THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                    {{ "WHEN x.[Is] = 'Processing'\n                        THEN" if beside else "ELSE" }} CONCAT(
                            CASE WHEN x.[LeaseUntil] > @_Now THEN N'Worker ' ELSE N'The lease of worker ' END, x.[LeaseOwner] COLLATE DATABASE_DEFAULT,
                            CASE
{%- if resume_own %}
                                WHEN @Recover = 2 AND x.[LeaseUntil] > @_Now THEN N' began anew'
                                {% else %} {% endif -%}
                                WHEN x.[LeaseUntil] > @_Now THEN N' is gone from the server' ELSE N' ran out' END,
                            N' on attempt ', x.[AttemptNum], N' of ', @_MaxAttempts, N'; the worker is taken for dead.',
                            CASE
                                WHEN x.[Together] = 1
                                    THEN N' It was claimed together with others: this attempt does not count, '
                                        + N'and the next claim of it is of it alone.'
                            END
                        )
{%- if beside %}
                    ELSE x.[Error]
{%- endif %}
                END,
{%- if beside or attempt_history %}
                x.[Step], x.[StartedAt], x.[LeaseOwner],
{%- endif %}
{%- set ends = "x.[Ends] = 1 AND (x.[Is] = 'Processing' OR x.[Refusals] > 0)" if beside else "x.[Ends] = 1" %}
{%- if beside or role.finished %}
                CASE WHEN {{ ends }} THEN @_Now END,
{%- endif %}
                CASE WHEN {{ "x.[Is] = 'Processing' AND " if beside }}x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @_Now) END,
                /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                CASE
                    WHEN {{ ends }} THEN NULL
                    WHEN {{ "x.[Is] = 'Processing' AND " if beside }}x.[LeaseUntil] < @_Now THEN x.[LeaseUntil]
{%- if beside %}
                    WHEN x.[Is] = 'Processing' THEN @_Now
                    WHEN x.[Died] = 1 THEN x.[LeaseUntil]
{%- else %}
                    ELSE @_Now
{%- endif %}
                END
            FROM (
                SELECT
                    {% for k in t.key %}q.{{ k.quoted }} AS {{ k.var }},{{ " " if not loop.last }}{% endfor %}
                    c.[Together],
                    CASE
                        WHEN c.[Together] = 0 AND {{ item.attempts(t) }} + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                        ELSE 0
                    END AS [Ends],
                    r.[Attempts] AS [Refusals], r.[Reason] AS [Refused],
                    {{ "s.[LeaseUntil]" if beside else item.until(t, "@_SilentMs") ~ " AS [LeaseUntil]" }},
{%- set given_up %}{{ item.until(t, "@_SilentMs") }} <= @_Now
                        OR ({{ item.owner(t) }} = @_Dead{% if resume_own and own_types_only %} AND (@Recover <> 2 OR {% filter indent(24) %}{% include "part/type_access.sql" %}{% endfilter %}){% endif %}){% endset %}
{%- if beside %}
                    {{ item.died(t) }} AS [Died],
                    {{ item.status(t) }} AS [Is],
                    {{ item.response(t) }} AS [Response],
                    {{ item.error(t) }} AS [Error],
                    s.[UpdatedAt] AS [Before],
{{- "\n                    DATALENGTH(q." ~ t.witness ~ ") AS [Row]," if presence and t.witness }}
                    {% if not t.shows_errors %}s.[DueAt]
{%- elif role.due %}COALESCE({{ item.utc(t, "q." ~ role.due) }}, @_Now) AS [DueAt]
{%- else %}CASE WHEN s.[Status] = 'Error' AND s.[DueAt] IS NOT NULL THEN s.[DueAt] ELSE @_Now END AS [DueAt]
{%- endif %},
                    CASE WHEN {{ given_up }} THEN 1 ELSE 0 END AS [GivenUp],
{%- endif %}
{%- if beside or attempt_history %}
                    {{ item.step(t) }} AS [Step],
{%- endif %}
                    {{ item.attempts(t) }} AS [AttemptNum],
                    {{ item.token(t) }} AS [Token],
                    {{ item.started(t) }} AS [StartedAt],
                    {{ item.owner(t) }} AS [LeaseOwner]
                FROM @_Candidate AS c
                INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON {{ item.found(t, "c") }}
{%- if beside %}
                LEFT JOIN {{ t.lease }} AS s WITH (UPDLOCK, ROWLOCK)
                    ON {{ item.kept_for(t, "c") }}
{%- endif %}
                LEFT JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = '{{ queue }}'
                        AND r.[Key] = {{ item.kept_key(t, "c") }}
{%- if not beside %}
                WHERE
                    {{ item.stands(processing) }}
                    AND ({{ given_up }})
            ) AS x
{%- else %}
            ) AS x
            WHERE NOT (x.[Is] = 'Processing' AND x.[GivenUp] = 0)
{%- endif %}
            OPTION (LOOP JOIN, FORCE ORDER);
{%- if beside %}

            IF @@ROWCOUNT < @_Searched
            BEGIN
                /*
                Items that are in the table no more leave nothing behind. Most that were passed over are there, and locked:
                a look without locks finds them, and waits for none. For the rest, another look makes sure.
                */
                INSERT INTO @_Gone ({{ item.names(t) }})
                SELECT {{ item.list(t, "c") }}
                FROM @_Candidate AS c
                WHERE
                    NOT EXISTS (SELECT 1 FROM {{ table }} AS q WITH (READUNCOMMITTED) WHERE {{ item.found(t, "c") }})
                    AND NOT EXISTS (SELECT 1 FROM @_Gone AS g WHERE {{ item.same(t, "g", "c") }})
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE g
                FROM @_Gone AS g
                WHERE EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ item.found(t, "g") }})
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE s
                FROM @_Gone AS g
                INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
                    ON {{ item.kept_for(t, "g") }}
                WHERE
                    /* A new item of this key may have come meanwhile: its row is of a later time. */
                    (s.[Status] = 'Processing' AND (s.[LeaseUntil] IS NULL OR s.[LeaseUntil] <= @_Now))
                    OR (s.[Status] = 'Error' AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now))
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF EXISTS (SELECT 1 FROM @_Change AS w WHERE w.[Status] = w.[Was])
            BEGIN
                /* Somebody has set the table by hand: it is right, and what stands beside it follows. */
                UPDATE s
                SET [Status] = w.[Status], [DueAt] = NULL, [LeaseUntil] = NULL
                FROM @_Change AS w
                INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
                    ON {{ item.kept_for(t, "w") }}
                WHERE w.[Status] = w.[Was] AND s.[Status] <> w.[Status]
                OPTION (LOOP JOIN, FORCE ORDER);

{%- if t.parks_errors and role.due %}

                /* Somebody has put its next attempt off. */
                UPDATE s
                SET [DueAt] = {{ item.utc(t, "q." ~ role.due) }}
                FROM @_Change AS w
                INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                    ON {{ item.found(t, "w") }}
                INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
                    ON {{ item.kept_for(t, "w") }}
                WHERE w.[Was] = 'Error' AND w.[Status] = 'Error' AND q.{{ role.due }} IS NOT NULL
                OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

                DELETE FROM @_Change WHERE [Status] = [Was];
            END;
{%- endif %}
{%- import "macro/apply.sql" as change %}
{%- set returns = {
    "status": "w.[Status]", "attempts": "w.[AttemptNum]", "token": "w.[Token]", "error": "w.[Error]", "finished": "w.[FinishedAt]",
    "duration": "w.[Duration]", "lease_until": "w.[LeaseUntil]", "is": {"error": write.message(t, "w.[Error]")} if role.error else {},
} %}
{{ change.apply(guard=false if beside else processing, x=write.row if beside else returns) | indent(4, true) }}
{%- if attempt_history %}

            INSERT INTO {{ t.attempt }} (
                {{ item.attempt_names(t) }}, [AttemptNum], [Worker], [StartedAt], [EndedAt], [Outcome], [Step], [Error]
            )
            SELECT
                {{ item.list(t, "w") }},
                w.[AttemptNum] + c.[Together], w.[LeaseOwner], w.[StartedAt], @_Now,
                {{ "CASE WHEN w.[Status] = 'Pending' THEN 'Error' ELSE w.[Status] END" if t.parks_errors else "w.[Status]" }},
                w.[Step], w.[Error]
            FROM @_Change AS w
            INNER JOIN @_Candidate AS c
                ON {{ item.same(t, "c", "w") }}
{%- if beside %}
            WHERE w.[Was] = 'Processing'
{%- endif %}
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

            /* The table has let them through. */
            DELETE r
            FROM @_Change AS w
            INNER JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = '{{ queue }}'
                    AND r.[Key] = {{ item.kept_key(t, "w") }}
            OPTION (LOOP JOIN, FORCE ORDER);
        END;
