{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Recover_" ~ queue ~ "_trx" -%}
{%- set claims = false -%}
{%- set recover_max = "@Max" -%}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Table access order: {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Max int = 100
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Recover int = 1;
    DECLARE @LeaseMs int;
{%- if resume_own %}
    DECLARE @Worker nvarchar(128);
{%- endif %}
{%- if run_time %}
    DECLARE @RunAt datetime2(7);
{%- endif %}
    DECLARE @MaxAttempts int;
    DECLARE @SilentMs int;
{% include "adopted/_clock_variables.sql" %}
{% include "adopted/_give_back_tables.sql" %}
{% include "adopted/_change_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}
{% include "adopted/_silent.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "adopted/_clock.sql" %}

{% include "adopted/_give_back.sql" %}

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
        {{ n.text(key, "w") }} AS [Key],
        w.[Token],
        w.[AttemptNum],
        w.[Status]
    FROM @Change AS w
    WHERE w.[Was] = 'Processing'
    ORDER BY {{ n.list(key, "w") }};

    RETURN 0;
END;
GO
