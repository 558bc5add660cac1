{#-
The writer puts decisions into the table, and into the row beside. `completes`: items may be completed by it. `guard`: a condition
that the row must still meet, for a caller that has not read it under its lock. `enters`: items may begin by it.
-#}
{%- import "macro/item.sql" as item -%}
{%- import "macro/write.sql" as write -%}
{%- import "macro/complete.sql" as complete -%}
{%- import "macro/limit.sql" as limit -%}
{%- macro apply(completes=false, guard=false, enters=false, x=write.row) %}
{%- if not t.written %}
        /* The table has no column that changes; its rows are locked, and in @_Change. */
        SET @_Written = (SELECT COUNT(*) FROM @_Change AS w{{ " WHERE w.[Status] <> 'Completed'" if completes and completion == "delete" }});
{%- else %}
        /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
        UPDATE q
        SET
{{- write.assignments(t, x) }}
        FROM @_Change AS w
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "w") }}
{%- if guard %}
        WHERE {{ item.stands(guard) }}
{%- elif completes and completion == "delete" %}
        WHERE w.[Status] <> 'Completed'
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Written = @@ROWCOUNT;
{%- endif %}
{%- if completes and completion != "keep" %}
{{ complete.completed("@_Change") }}
{%- endif %}

        IF @_Written <> (SELECT COUNT(*) FROM @_Change)
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- if not own and role.token %}

        /* As the column keeps it. */
        UPDATE w
        SET [Token] = q.{{ role.token }}
        FROM @_Change AS w
        INNER JOIN {{ table }} AS q
            ON {{ item.found(t, "w") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if beside %}
        SET @_Kept = 0;
{%- if completes and (completion != "keep" or t.completed_is_told) %}

        DELETE s
        FROM @_Change AS w
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "w") }}
        WHERE w.[Status] = 'Completed' AND s.[UpdatedAt] = w.[Before]
{%- if completion == "keep" %}
            /* A value that the table has a column for, or nobody gave, is not kept twice. */
{%- for column in ["step", "response", "error"] %}{% if not role[column] %}
            AND w.[{{ column | title }}] IS NULL
{%- endif %}{% endfor %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Kept = @@ROWCOUNT;
{%- endif %}

        UPDATE s
        SET
            [Status] = w.[Status], [Step] = w.[Step], [AttemptNum] = w.[AttemptNum], [Response] = w.[Response],
            [Error] = w.[Error], [StartedAt] = w.[StartedAt], [FinishedAt] = w.[FinishedAt],
            [Duration] = w.[Duration], [DueAt] = w.[DueAt], [UpdatedAt] = w.[Token], [LeaseOwner] = w.[LeaseOwner],
            [LeaseUntil] = w.[LeaseUntil]{{ ",\n            [ClaimNum] = w.[ClaimNum]" if marks_claims }}
        FROM @_Change AS w
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "w") }}
        WHERE s.[UpdatedAt] = w.[Before]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Kept = @_Kept + @@ROWCOUNT;

        IF @_Kept <> (SELECT COUNT(*) FROM @_Change AS w WHERE w.[Before] IS NOT NULL)
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;

        IF @_Kept < @_Written
            INSERT INTO {{ t.lease }} (
                {{ item.kept_names(t) }}, [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [FinishedAt],
                [Duration], [DueAt], [UpdatedAt], [LeaseOwner], [LeaseUntil]{{ ", [ClaimNum]" if marks_claims }}
            )
            SELECT
                {{ item.list(t, "w") }}, w.[Status], w.[Step], w.[AttemptNum], w.[Response], w.[Error], w.[StartedAt],
                w.[FinishedAt], w.[Duration], w.[DueAt], w.[Token], w.[LeaseOwner], w.[LeaseUntil]{{ ", w.[ClaimNum]" if marks_claims }}
            FROM @_Change AS w
            WHERE w.[Before] IS NULL
{%- if completes and completion != "keep" %}
                AND w.[Status] <> 'Completed'
{%- elif completes and t.completed_is_told %}
                AND (
                    w.[Status] <> 'Completed'
{%- for column in ["step", "response", "error"] %}{% if not role[column] %}
                    OR w.[{{ column | title }}] IS NOT NULL
{%- endif %}{% endfor %}
                )
{%- endif %}
            OPTION (LOOP JOIN, FORCE ORDER);
{%- if enters and limits | selectattr("by") | list %}

        /* The keys that those in work count for, as they are now. */
        UPDATE s
        SET{% for l in limits if l.by %} [Limit{{ l.nth }}] = NULLIF({{ limit.text(l, "q." ~ l.quoted) }}, N''){{ ", [Weight" ~ l.nth ~ "] = q." ~ l.weight.quoted if l.weight }}{{ "," if not loop.last }}{% endfor %}
        FROM @_Change AS w
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "w") }}
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "w") }}
        WHERE w.[Status] = 'Processing' AND w.[Was] <> 'Processing'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- endif %}
{%- endmacro -%}
