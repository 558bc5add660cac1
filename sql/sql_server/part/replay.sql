        /* Those that were not OK are told as they were kept, the others are read back from the items. */
        SELECT
            @_Result = p.[Result],
            @_Now = p.[At]
        FROM {{ object("QueueOperation") }} AS p
        WHERE p.[OperationId] = @Operation;

        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            'OK',
            CASE WHEN q.{{ key[0].quoted }} IS NOT NULL THEN 'Pending' END,
            CASE WHEN q.{{ key[0].quoted }} IS NOT NULL THEN {{ item.status(t) }} END,
            {{ item.token(t) }},
            CASE WHEN q.{{ key[0].quoted }} IS NOT NULL THEN {{ item.attempts(t) }} END
        FROM @_Item AS i
        LEFT JOIN {{ table }} AS q
            ON {{ item.found(t, "i") }}
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{{- item.beside(t) }}
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE k
        SET [Answer] = r.[answer]
        FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = r.[ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if not redrive %}

        /* A completed item may have left the table: it was answered for like this. */
        UPDATE k
        SET
            [Token] = CASE WHEN i.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, i.[Token]) ELSE @_Now END,
            [AttemptNum] = i.[Attempt],
            [Status] = 'Completed'
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        WHERE k.[Answer] = 'OK' AND k.[Was] IS NULL AND i.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
