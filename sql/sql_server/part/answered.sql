{#- The one place where a call is answered that was made before. -#}
{%- set inner = queue ~ "_Answered" %}
{% filter made("PROCEDURE", inner) %}
/*
The answers of a settlement or a redrive that was made before. Nothing is changed.
Called by {{ queue }}_Settle and Redrive_{{ queue }}_Set_trx, where QueueOperationTake says so. Nobody is granted it.
Table access order: QueueOperation, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(inner) }}
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max);
{% include "part/limit.sql" %}
    DECLARE @_Now datetime2(7); /* UTC: when the call was made */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Key] {{ item.key_type(t) }} NULL,
{{- item.declared(t, "NULL") }}
        [Token] datetime2(7) NULL, [Attempt] int NULL, [Status] varchar(20) NULL
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL,
        [Status] varchar(20) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );

    INSERT INTO @_Item ([Ordinal], [Key], {{ item.names(t) }}, [Token], [Attempt], [Status])
    SELECT
        CAST(j.[key] AS int),
        {{ "JSON_QUERY(j.[value], '$.key')" if composite else "r." ~ t.key[0].var }},
{{- item.reads(t, "r") }}
        r.[Token], r.[Attempt], r.[Status]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{{- item.asked(t) }}
        [Token] datetime2(7) '$.token', [Attempt] int '$.attempt', [Status] varchar(20) '$.status'
    ) AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));

    /* Items that were not OK get the answer that was kept, the others are read back. */
    SELECT @_Result = p.[Result], @_Now = p.[At]
    FROM {{ object("QueueOperation") }} AS p
    WHERE p.[OperationId] = @Operation;

    INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
    SELECT
        i.[Ordinal], 'OK',
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
{{- item.beside(t) | indent(4) }}
    OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE k
    SET [Answer] = r.[answer]
    FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
    INNER JOIN @_Work AS k ON k.[Ordinal] = r.[ordinal]
    OPTION (LOOP JOIN, FORCE ORDER);

    /* A completed item may have left the table: it was answered for like this. */
    UPDATE k
    SET
        [Token] = CASE WHEN i.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, i.[Token]) ELSE @_Now END,
        [AttemptNum] = i.[Attempt], [Status] = 'Completed'
    FROM @_Item AS i
    INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
    WHERE k.[Answer] = 'OK' AND k.[Was] IS NULL AND i.[Status] = 'Completed'
    OPTION (LOOP JOIN, FORCE ORDER);

{% include "part/work_select.sql" %}
END;
{% endfilter %}
