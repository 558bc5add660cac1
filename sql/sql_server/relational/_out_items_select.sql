    /* After the commit, and in an order that no OUTPUT clause promises. */
    SELECT
        o.[Answer],
        o.[Ordinal],
        o.[DueMs],
        o.[EnqueuedAt] AS [Key],
        o.[Token],
        o.[AttemptNum],
        o.[Status],
        v.*
    FROM @Out AS o
{%- if subtypes %}
    /* Applied, so that each key is sought, through all tables of the view. */
    OUTER APPLY (
        SELECT v.*
        FROM {{ object("Worker_" ~ queue ~ "_V") }} AS v
        WHERE v.[EnqueuedAt] = o.[EnqueuedAt] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    ) AS v
{%- else %}
    LEFT JOIN {{ object("Worker_" ~ queue ~ "_V") }} AS v
        ON v.[EnqueuedAt] = o.[EnqueuedAt] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
{%- endif %}
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
