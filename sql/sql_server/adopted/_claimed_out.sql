    INSERT INTO @Out ([Seq], [Answer], [Key], {{ n.names(key) }}, [Token], [AttemptNum], [Status])
    SELECT
        1000000 + d.[Seq], CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, {{ n.text(key, "w") }}, {{ n.list(key, "w") }}, w.[Token], w.[AttemptNum], w.[Status]
    FROM @Due AS d
    INNER JOIN @Change AS w
        ON {{ n.same(key, "w", "d") }}
    WHERE w.[Status] = 'Processing';

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due
    already is in the hands of others.
    */
    IF @@ROWCOUNT = 0
        INSERT INTO @Out ([Seq], [Answer], [DueMs])
        SELECT
            1000000,
            'EMPTY',
            MIN(x.[DueMs])
        FROM (
            SELECT CAST(NULL AS bigint) AS [DueMs]
{%- if role.due %}
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @At, MIN(u.[DueAt])) + 1
            FROM (
                /* {{ "The first of them." if due_leads else "Of the thousand that come next." }} */
                SELECT TOP ({{ 1 if due_leads else 1000 }}) q.{{ role.due }} AS [DueAt]
                FROM {{ table }} AS q
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ({{ index.name or "[IX_" ~ queue ~ "_Due]" }}))
                WHERE
                    {{ n.stands(pending) }}
                    AND q.{{ role.due }} > @At
                ORDER BY {% if due_leads %}q.{{ role.due }}{% else %}{% for c in order %}q.{{ c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor %}{% endif %}
            ) AS u
{%- endif %}
{%- if parks_errors %}
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @Now, u.[DueAt]) + 1
            FROM (
                SELECT TOP (1) s.[DueAt]
                FROM {{ object(queue ~ "_Lease") }} AS s
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_Waiting]))
                WHERE
                    s.[Status] = 'Error'
                    AND s.[DueAt] > @Now
                ORDER BY s.[DueAt]
            ) AS u
{%- endif %}
        ) AS x;
