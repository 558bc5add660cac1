{%- set item_text = "@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,\ndue (UTC) or delay_ms." -%}
{%- set answers = "One row per element: its position, key and token." -%}
{%- if dedup -%}
{%- set answers = answers ~ " DUPLICATE where the same work is there already,\nwith " ~ ("the key of that item" if dedup.existing else "no key") ~ " and without a token." -%}
{%- endif -%}
{%- if subtypes -%}
{%- set item_text = item_text ~ " What a subtype has is an\nobject among the columns, by the subtype's name." -%}
{%- endif -%}
{%- set procedure = "Add_" ~ queue ~ "_Set_utx" -%}
/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
{{ item_text }}
{{ answers }}
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
{% include "relational/_new_table.sql" %}
    IF @@TRANCOUNT = 0
        THROW 50012, N'{{ procedure }} works inside the transaction of its caller; begin one first.', 1;

{% include "relational/_add.sql" %}

{% include "relational/_add_out.sql" %}

    RETURN 0;
END;
GO
{%- set procedure = "Add_" ~ queue ~ "_Set_trx" %}
/*
Enqueue many items in one commit of their own.
{{ item_text }}
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
{{ answers }}
Table access order: QueueOperation, {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Now datetime2(7);
    DECLARE @Tries int = 0;
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
{% include "relational/_new_table.sql" %}

{% include "relational/_no_transaction.sql" %}

    WHILE @Tries < 5
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            SET @Now = SYSUTCDATETIME();
            DELETE FROM @New;
{%- if dedup %}
            DELETE FROM @Seen;
{%- endif %}

{% filter indent(4, true) %}{% include "relational/_remember.sql" %}{% endfilter %}

{% filter indent(8, true) %}{% include "relational/_add.sql" %}{% endfilter %}

            IF @Operation IS NOT NULL
            BEGIN
                SET @Result = (
{%- if dedup %}
                    SELECT
                        n.[Ordinal] AS [ordinal],
                        CASE WHEN s.[Ordinal] IS NULL THEN n.[EnqueuedAt] ELSE s.[EnqueuedAt] END AS [key],
                        CASE WHEN s.[Ordinal] IS NULL THEN 0 ELSE 1 END AS [duplicate]
                    FROM @New AS n
                    LEFT JOIN @Seen AS s
                        ON s.[Ordinal] = n.[Ordinal]
                    FOR JSON PATH
{%- else %}
                    SELECT
                        n.[Ordinal] AS [ordinal],
                        n.[EnqueuedAt] AS [key]
                    FROM @New AS n
                    FOR JSON PATH
{%- endif %}
                );
                UPDATE {{ object("QueueOperation") }}
                SET [Result] = @Result
                WHERE [OperationId] = @Operation;
            END;

            COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() {{ "NOT IN (2601, 2627)" if dedup else "<> 2627" }}
                THROW;

            IF EXISTS (SELECT 1 FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation)
            BEGIN
                SET @Replayed = 1;
                BREAK;
            END;

            /* A key was taken (the clock was set back): the sequence has moved on, so the next keys differ. */
            SET @Tries = @Tries + 1;
            IF @Tries = 5
                THROW;
        END CATCH;
    END;

    IF @Replayed = 1
    BEGIN
        DELETE FROM @New;
{%- if dedup %}
        DELETE FROM @Seen;
{%- endif %}
        SET @Result = (SELECT p.[Result] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);
        SET @Now = (SELECT p.[At] FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @New ([Ordinal], [Number], [EnqueuedAt], [ScheduledFor], [Type])
        SELECT r.[ordinal], 0, r.[key], @Now, N''
        FROM OPENJSON(@Result) WITH ([ordinal] int '$.ordinal', [key] datetime2(7) '$.key') AS r;
{%- if dedup %}

        INSERT INTO @Seen ([Ordinal], [EnqueuedAt])
        SELECT r.[ordinal], r.[key]
        FROM OPENJSON(@Result) WITH (
            [ordinal] int '$.ordinal', [key] datetime2(7) '$.key', [duplicate] bit '$.duplicate'
        ) AS r
        WHERE r.[duplicate] = 1;
{%- endif %}
    END;

{% include "relational/_add_out.sql" %}

    RETURN 0;
END;
GO
