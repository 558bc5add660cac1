        /* The rows are locked and in @Change: first the table, then what is kept beside it. */
        UPDATE q
        SET
{%- for w in written %}
            {{ w.quoted }} =
{%- if not w.cases %} {% include "adopted/_role_value.sql" %}
{%- else %} CASE
{%- for case in w.cases %}
                WHEN w.[Status] IN ({{ n.states(case.states) }})
                    THEN {% if case.holds == "something" %}{% include "adopted/_something.sql" %}{% else %}{{ case.literal }}{% endif %}
{%- endfor %}
                ELSE {% include "adopted/_role_value.sql" %}
            END
{%- endif %}{{ "," if not loop.last }}
{%- endfor %}
        FROM @Change AS w
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "w") }}
{%- if guard or completion == "delete" %}
        WHERE
{%- if completion == "delete" %}
            w.[Status] <> 'Completed'
{%- endif %}
{%- if guard %}
            {{ "AND " if completion == "delete" }}{{ n.stands(guard) }}
{%- endif %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Written = @@ROWCOUNT;
{%- if completes and completion != "keep" %}
{%- if completion == "history" %}

        INSERT INTO {{ history_table }}
        SELECT q.*
        FROM @Change AS w
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "w") }}
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

        DELETE q
        FROM @Change AS w
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "w") }}
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if completion == "delete" %}
        SET @Written = @Written + @@ROWCOUNT;
{%- endif %}
{%- endif %}

        IF @Written <> (SELECT COUNT(*) FROM @Change)
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- if role.token %}

        /* As the column keeps it. */
        UPDATE w
        SET [Token] = q.{{ role.token }}
        FROM @Change AS w
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "w") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
        SET @Kept = 0;
{%- if completes and (completion != "keep" or completed_is_told) %}

        DELETE s
        FROM @Change AS w
        INNER JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "w") }}
        WHERE
            w.[Status] = 'Completed'
            AND s.[UpdatedAt] = w.[Before]
{%- if completion == "keep" %}
            /* What the table has a column for, or nobody gave, is not kept twice. */
{%- for column in ["step", "response", "error"] %}{% if not role[column] %}
            AND w.[{{ column | title }}] IS NULL
{%- endif %}{% endfor %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Kept = @@ROWCOUNT;
{%- endif %}

        UPDATE s
        SET
            [Status] = w.[Status],
            [Step] = w.[Step],
            [AttemptNum] = w.[AttemptNum],
            [Response] = w.[Response],
            [Error] = w.[Error],
            [StartedAt] = w.[StartedAt],
            [FinishedAt] = w.[FinishedAt],
            [Duration] = w.[Duration],
            [DueAt] = w.[DueAt],
            [UpdatedAt] = w.[Token],
            [LeaseOwner] = w.[LeaseOwner],
            [LeaseUntil] = w.[LeaseUntil]
        FROM @Change AS w
        INNER JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "w") }}
        WHERE s.[UpdatedAt] = w.[Before]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Kept = @Kept + @@ROWCOUNT;

        IF @Kept <> (SELECT COUNT(*) FROM @Change AS w WHERE w.[Before] IS NOT NULL)
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;

        IF @Kept < @Written
            INSERT INTO {{ object(queue ~ "_Lease") }} (
                {{ n.names(key) }}, [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [FinishedAt],
                [Duration], [DueAt], [UpdatedAt], [LeaseOwner], [LeaseUntil]
            )
            SELECT
                {{ n.list(key, "w") }}, w.[Status], w.[Step], w.[AttemptNum], w.[Response], w.[Error], w.[StartedAt],
                w.[FinishedAt], w.[Duration], w.[DueAt], w.[Token], w.[LeaseOwner], w.[LeaseUntil]
            FROM @Change AS w
            WHERE
                w.[Before] IS NULL
{%- if completes and completion != "keep" %}
                AND w.[Status] <> 'Completed'
{%- elif completes and completed_is_told %}
                AND (
                    w.[Status] <> 'Completed'
{%- for column in ["step", "response", "error"] %}{% if not role[column] %}
                    OR w.[{{ column | title }}] IS NOT NULL
{%- endif %}{% endfor %}
                )
{%- endif %}
            OPTION (LOOP JOIN, FORCE ORDER);
