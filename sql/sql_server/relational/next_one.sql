{%- set procedure = "Next_" ~ queue ~ "_trx" -%}
/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_{{ queue }}_trx.
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting {{ setting }}.leaseMs, or else a minute */
    @Recover int = 1 /* 1: first give back the items of dead workers; a caller that polls often need not each time */
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Max int = 1;
    DECLARE @RecoverMax int = 100;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
{% include "relational/_claim_tables.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}

    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
{% include "relational/_check_lease.sql" %}

    BEGIN TRY
        BEGIN TRANSACTION;
{%- if group %}
{% include "relational/_group_lock.sql" %}
{%- endif %}
        SET @Now = SYSUTCDATETIME();

        IF @Recover > 0
        BEGIN
{% filter indent(4, true) %}{% include "relational/_recover.sql" %}{% endfilter %}
        END;

{% include "relational/_claim.sql" %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        v.[EnqueuedAt],
        d.[UpdatedAt]
    FROM @Due AS d
    INNER JOIN {{ object("Worker_" ~ queue ~ "_V") }} AS v
        ON v.[EnqueuedAt] = d.[EnqueuedAt]
    WHERE d.[Status] = 'Processing'
    OPTION (LOOP JOIN, FORCE ORDER);

    RETURN 0;
END;
GO
