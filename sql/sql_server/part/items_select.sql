    /* In an order that no OUTPUT clause promises. */
    SELECT
        o.[Answer],
        o.[Ordinal] AS [AnswerOrdinal],
        o.[DueMs] AS [AnswerDueMs],
        o.[Key] AS [AnswerKey],
        o.[Token] AS [AnswerToken],
        o.[AttemptNum] AS [AnswerAttempt],
        o.[Status] AS [AnswerStatus],
{%- filter indent(4) %}{{ item.columns(t) | trim(",") }}{% endfilter %}
    FROM @_Out AS o
    LEFT JOIN {{ table }} AS q
        ON {{ item.found(t, "o") }} AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
{{- item.beside(t) }}
{{- item.subtypes(t) }}
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
