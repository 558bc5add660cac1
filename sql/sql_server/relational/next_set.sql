{%- set procedure = "Next_" ~ queue ~ "_Set_trx" -%}
/*
Claim up to @Max due items in one commit. One row per item, in the order they are due, with the answer CLAIMED; or one
row EMPTY with the milliseconds until the next item is due (NULL when there is none).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Max int,
    @LeaseMs int = NULL,
    @Recover int = 1 /* 1: first give back the items of dead workers; a caller that polls often need not each time */
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @RecoverMax int = 100;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
{% include "relational/_claim_tables.sql" %}
{% include "relational/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}
{% include "relational/_check_lease.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

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

{% include "relational/_claimed_out.sql" %}

{% include "relational/_out_items_select.sql" %}

    RETURN 0;
END;
GO
