        SET @Result = (SELECT p.[Result] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal], 'OK', i.[Ordinal], i.[EnqueuedAt], q.[UpdatedAt], q.[AttemptNum], q.[Status]
        FROM @Item AS i
        LEFT JOIN {{ object(queue) }} AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
{%- if own_types_only %}
{%- set own = "q" %}
            AND {% filter indent(8) %}{% include "relational/_own_type.sql" %}{% endfilter %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE o
        SET [Answer] = r.[answer]
        FROM OPENJSON(@Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
        INNER JOIN @Out AS o
            ON o.[Seq] = r.[ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);
