{%- set procedure = "Recover_" ~ queue ~ "_trx" -%}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Max int = 100
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @RecoverMax int = @Max;
{%- if resume_own %}
    DECLARE @Recover int = 1;
    DECLARE @Worker nvarchar(128);
{%- endif %}
    DECLARE @LeaseMs int;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
{% include "relational/_claim_tables.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

{% include "relational/_recover.sql" %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        'RECOVERED' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        r.[EnqueuedAt] AS [Key],
        r.[UpdatedAt] AS [Token],
        r.[AttemptNum],
        r.[Status]
    FROM @Recovered AS r
    ORDER BY r.[EnqueuedAt];

    RETURN 0;
END;
GO
