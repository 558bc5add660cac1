{% include "adopted/_candidates.sql" %}

        IF @Searched > 0
        BEGIN
            /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
            INSERT INTO @Change (
                {{ n.names(key) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
            )
            SELECT
                {{ n.list(key, "x") }},
                x.[Is],
                CASE
                    WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 AND x.[Ends] = 1 THEN 'Failed'
                    WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 THEN '{{ "Pending" if parks_errors and claims else "Error" }}'
{%- if parks_errors %}
                    WHEN x.[Is] = 'Error' AND x.[DueAt] <= @Now THEN 'Pending'
{%- endif %}
                    ELSE x.[Is]
                END,
                x.[AttemptNum] - CASE WHEN x.[Is] = 'Processing' THEN x.[Together] ELSE 0 END,
                x.[Token],
                x.[Step],
                x.[Response],
                CASE
                    WHEN x.[Is] = 'Processing'
                        THEN CONCAT(
                            N'The lease of worker ', x.[LeaseOwner], N' ran out on attempt ', x.[AttemptNum], N' of ',
                            @MaxAttempts, N'; the worker is taken for dead.',
                            CASE
                                WHEN x.[Together] = 1
                                    THEN N' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                            END
                        )
                    ELSE x.[Error]
                END,
                x.[StartedAt],
                CASE WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN @Now END,
                CASE WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @Now) END,
                CASE WHEN x.[Is] = 'Processing' THEN {{ "@Now" if not role.due else "CAST(NULL AS datetime2(7))" }} END,
                x.[LeaseOwner],
                /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                CASE
                    WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN NULL
                    WHEN x.[Is] = 'Processing' AND x.[LeaseUntil] < @Now THEN x.[LeaseUntil]
                    WHEN x.[Is] = 'Processing' THEN @Now
                    WHEN x.[Died] = 1 THEN x.[LeaseUntil]
                END,
                x.[Before]
            FROM (
                SELECT
                    {{ n.list(key, "q") }},
                    c.[Together],
                    CASE WHEN c.[Together] = 0 AND {{ n.attempts(role) }} >= @MaxAttempts THEN 1 ELSE 0 END AS [Ends],
                    {{ n.died() }} AS [Died],
                    s.[LeaseUntil],
{% filter indent(20, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [Is],
                    CASE
                        WHEN {{ n.until(role, foreign, local_time, "@SilentMs") }} <= @Now THEN 1
{%- if resume_own %}
                        WHEN @Recover = 2 AND {{ n.owner(role) }} = @Worker THEN 1
{%- endif %}
                        ELSE 0
                    END AS [GivenUp],
                    {{ n.attempts(role) }} AS [AttemptNum],
                    {{ n.later(n.token(role), "@At" if role.token else "@Now") }} AS [Token],
                    {{ n.kept_text(role.step, "[Step]") }} AS [Step],
                    {{ n.kept_text(role.response, "[Response]") }} AS [Response],
                    {{ n.kept_text(role.error, "[Error]") }} AS [Error],
                    {{ n.started(role, run_time, local_time) }} AS [StartedAt],
                    {% if not shows_errors %}s.[DueAt]
{%- elif role.due %}COALESCE({{ n.utc("q." ~ role.due, local_time) }}, @Now) AS [DueAt]
{%- else %}CASE WHEN s.[Status] = 'Error' AND s.[DueAt] IS NOT NULL THEN s.[DueAt] ELSE @Now END AS [DueAt]
{%- endif %},
                    {{ n.owner(role) }} AS [LeaseOwner],
                    s.[UpdatedAt] AS [Before]
                FROM @Candidate AS c
                INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON {{ n.found(key, seek, "c") }}
                LEFT JOIN {{ object(queue ~ "_Lease") }} AS s WITH (UPDLOCK, ROWLOCK)
                    ON {{ n.same(key, "s", "c") }}
            ) AS x
            WHERE NOT (x.[Is] = 'Processing' AND x.[GivenUp] = 0)
            OPTION (LOOP JOIN, FORCE ORDER);

            IF @@ROWCOUNT < @Searched
            BEGIN
                /* Items that are in the table no more leave nothing behind. */
                INSERT INTO @Gone ({{ n.names(key) }})
                SELECT {{ n.list(key, "c") }}
                FROM @Candidate AS c
                WHERE
                    NOT EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ n.found(key, seek, "c") }})
                    AND NOT EXISTS (SELECT 1 FROM @Gone AS g WHERE {{ n.same(key, "g", "c") }});

{%- if seek %}

                /* What moved to another place of the index while it was looked for can be missed, once. */
                DELETE g
                FROM @Gone AS g
                WHERE EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ n.found(key, seek, "g") }});
{%- endif %}

                DELETE s
                FROM @Gone AS g
                INNER JOIN {{ object(queue ~ "_Lease") }} AS s
                    ON {{ n.same(key, "s", "g") }}
                WHERE s.[Status] IN ('Processing', 'Error')
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF EXISTS (SELECT 1 FROM @Change AS w WHERE w.[Status] = w.[Was])
            BEGIN
                /* Somebody has set the table by hand: it is right, and what stands beside it follows. */
                UPDATE s
                SET
                    [Status] = w.[Status],
                    [DueAt] = NULL,
                    [LeaseUntil] = NULL
                FROM @Change AS w
                INNER JOIN {{ object(queue ~ "_Lease") }} AS s
                    ON {{ n.same(key, "s", "w") }}
                WHERE
                    w.[Status] = w.[Was]
                    AND s.[Status] <> w.[Status]
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE FROM @Change WHERE [Status] = [Was];
            END;
{%- set guard = false %}
{%- set completes = false %}

{% filter indent(4, true) %}{% include "adopted/_write.sql" %}{% endfilter %}
        END;
