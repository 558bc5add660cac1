{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Modify_" ~ queue ~ "_Set_trx" -%}
{%- set claims = true -%}
{%- set recover_max = "100" -%}
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_{{ queue }}_Set_trx returns them.
{%- if completion == "delete" %}
Completed items are deleted.
{%- elif completion == "history" %}
Completed items move to {{ called.history }}.
{%- endif %}
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
items claimed by the first call are left to their lease.
Table access order: QueueOperation, {{ called.table }}, {{ queue }}_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0{% if run_time %},
    @StartedAt datetime2(7) = NULL /* UTC: the time of the worker's whole run; NULL is now */{% endif %}
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
{% include "adopted/_clock_variables.sql" %}
{%- if run_time %}
    DECLARE @RunAt datetime2(7);
{%- endif %}
{% include "adopted/_item_table.sql" %}
{% include "adopted/_claim_tables.sql" %}
{% include "adopted/_give_back_tables.sql" %}
{% include "adopted/_change_table.sql" %}
{% include "adopted/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}
{% include "adopted/_silent.sql" %}
{% include "relational/_check_lease.sql" %}

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 0 to 1000.', 1;

{% include "adopted/_read_items.sql" %}

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "adopted/_clock.sql" %}
{%- if run_time %}
        SET @RunAt = COALESCE({{ n.own("@StartedAt", local_time) }}, @At);
{%- endif %}

{% include "relational/_remember.sql" %}
{%- if group %}

        IF @Max > 0
        BEGIN
{% filter indent(4, true) %}{% include "adopted/_group_lock.sql" %}{% endfilter %}
        END;
{%- endif %}

{% include "adopted/_modify.sql" %}

{% include "adopted/_remember_answers.sql" %}

        IF @Max > 0
        BEGIN
{% filter indent(4, true) %}{% include "adopted/_give_back.sql" %}{% endfilter %}

{% filter indent(4, true) %}{% include "adopted/_claim.sql" %}{% endfilter %}
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
{% include "relational/_replayed.sql" %}
    END CATCH;

{% include "adopted/_answers.sql" %}

    IF @Max > 0 AND @Replayed = 0
    BEGIN
{% filter indent(4, true) %}{% include "adopted/_claimed_out.sql" %}{% endfilter %}
    END;

    IF @Max = 0
    BEGIN
{% filter indent(4, true) %}{% include "adopted/_answers_select.sql" %}{% endfilter %}

        RETURN 0;
    END;

{% include "adopted/_items_select.sql" %}

    RETURN 0;
END;
GO
