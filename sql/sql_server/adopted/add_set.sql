{% import "adopted/_names.sql" as n -%}
{%- set item_text = "@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,\ndue (UTC) or delay_ms." -%}
{%- set result_text = "One row per element: OK, its position and key" ~ ("; or DUPLICATE, when the same work is there" ~ (", with that item's key" if dedup.existing else "") if dedup else "") ~ "." -%}
{%- for transaction in ["utx", "trx"] %}
{%- set procedure = "Add_" ~ queue ~ "_Set_" ~ transaction %}
/*
Enqueue many items {{ "inside the caller's transaction: they are there when it commits, together with its other work." if transaction == "utx" else "in one commit of their own." }}
{{ item_text }}
{%- if transaction == "trx" %}
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
{%- endif %}
{{ result_text }}
Table access order: {{ "QueueOperation, " if transaction == "trx" }}{{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
{%- if transaction == "trx" %}
    @Operation uniqueidentifier,
{%- endif %}
    @Items nvarchar(max)
AS
BEGIN
{%- if transaction == "trx" %}
{% include "relational/_procedure_head.sql" %}
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
{%- else %}
    SET NOCOUNT, XACT_ABORT ON;
{%- endif %}
{% include "adopted/_clock_variables.sql" %}
{% include "adopted/_new_table.sql" %}
{% if transaction == "trx" %}
{% include "relational/_no_transaction.sql" %}

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "adopted/_clock.sql" %}

{% include "relational/_remember.sql" %}

{% include "adopted/_add.sql" %}

        IF @Operation IS NOT NULL
        BEGIN
            SET @Result = (
                SELECT
                    a.[Ordinal] AS [ordinal],
                    a.[Answer] AS [answer],
                    a.[Key] AS [key]
                FROM @Added AS a
                FOR JSON PATH
            );
            UPDATE {{ object("QueueOperation") }}
            SET [Result] = @Result
            WHERE [OperationId] = @Operation;
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
{% include "relational/_replayed.sql" %}
    END CATCH;

    IF @Replayed = 1
    BEGIN
        DELETE FROM @Added;
        SET @Result = (SELECT p.[Result] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT r.[ordinal], r.[answer], r.[key]
        FROM OPENJSON(@Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] nvarchar(max) '$.key'
        ) AS r;
    END;
{%- else %}
    IF @@TRANCOUNT = 0
        THROW 50012, N'{{ procedure }} works inside the transaction of its caller; begin one first.', 1;
{% filter replace("\n        ", "\n    ") %}{% include "adopted/_clock.sql" %}

{% include "adopted/_add.sql" %}{% endfilter %}
{%- endif %}

    SELECT
        a.[Answer],
        a.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        {{ "a.[Key]" if not dedup or dedup.existing else "CASE WHEN a.[Answer] = 'OK' THEN a.[Key] END AS [Key]" }},
        CAST(NULL AS datetime2(7)) AS [Token],
        0 AS [AttemptNum],
        CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]
    FROM @Added AS a
    ORDER BY a.[Ordinal];

    RETURN 0;
END;
GO
{%- endfor %}
