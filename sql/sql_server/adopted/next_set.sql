{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Next_" ~ queue ~ "_Set_trx" -%}
{%- set claims = true -%}
{%- set recover_max = "100" -%}
/*
Claim up to @Max due items in one commit. One row per item, in order, with the answer CLAIMED; or one row EMPTY with the
milliseconds until the next item is due (NULL when there is none).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Max int,
    @LeaseMs int = NULL,
    /* 1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. */
    @Recover int = 1{% if run_time %},
    @StartedAt datetime2(7) = NULL /* UTC: the time of the worker's whole run; NULL is now */{% endif %}
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
{% include "adopted/_clock_variables.sql" %}
{%- if run_time %}
    DECLARE @RunAt datetime2(7);
{%- endif %}
{% include "adopted/_claim_tables.sql" %}
{% include "adopted/_give_back_tables.sql" %}
{% include "adopted/_change_table.sql" %}
{% include "adopted/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}
{% include "adopted/_silent.sql" %}
{% include "relational/_check_lease.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- if group %}
{% include "adopted/_group_lock.sql" %}
{%- endif %}
{%- include "adopted/_clock.sql" %}
{%- if run_time %}
        SET @RunAt = COALESCE({{ n.own("@StartedAt", local_time) }}, @At);
{%- endif %}

{% include "adopted/_give_back.sql" %}

{% include "adopted/_claim.sql" %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

{% include "adopted/_claimed_out.sql" %}

{% include "adopted/_items_select.sql" %}

    RETURN 0;
END;
GO
