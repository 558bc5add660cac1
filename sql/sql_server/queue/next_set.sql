{% import "part/item.sql" as item -%}
{%- import "part/in_flight.sql" as flight -%}
{%- import "part/kind.sql" as kind -%}
{%- import "part/write.sql" as write -%}
{%- set procedure = "Next_" ~ queue ~ "_Set_trx" -%}
{%- set claims = true -%}
{%- set each = false -%}
{%- set around = false -%}
{%- set takes_turns = true -%}
{%- set recover_max = "100" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Claim up to @Max due items in one commit. One row per item, in order, with the answer CLAIMED; or one row EMPTY with the
milliseconds until the next item is due (NULL when there is none; 0 when it only
ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Max int,
    @LeaseMs int = NULL,
    /*
    1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. More:
    as 1, unless somebody did within so many milliseconds.
    */
    @Recover int = 1{% if run_time %},
    @StartedAt datetime2(7) = NULL /* UTC: the time of the worker's whole run; NULL is now */{% endif %}
{%- include "part/kind_parameters.sql" %}{% if marks_claims %},
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_{{ queue }} */{% endif %}
AS
BEGIN
{% include "part/head.sql" %}
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/claim_tables.sql" %}
{% include "part/recover_tables.sql" %}
{% include "part/change_table.sql" %}
{% include "part/out_table.sql" %}

{% include "part/no_transaction.sql" %}

{% include "part/settings.sql" %}
{% include "part/check_lease.sql" %}
{%- include "part/check_kinds.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    IF EXISTS (SELECT 1 FROM {{ object("QueueRefused") }} AS r WHERE r.[Queue] = '{{ queue }}')
    BEGIN
        /* The table refuses some: around those. */
        EXECUTE {{ object("Next_" ~ queue ~ "_Apart_trx") }}
            @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover{{ ", @StartedAt = @StartedAt" if run_time }}
            {{- ", @Types = @Types" if asks_types }}{{ ", @Steps = @Steps" if asks_steps }}{{ ", @Claim = @Claim" if marks_claims }};
        RETURN 0;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- if group %}
{% include "part/group_lock.sql" %}
{%- endif %}
{%- include "part/clock.sql" %}
{%- if run_time %}
        SET @_RunAt = COALESCE({{ item.theirs(t, "@StartedAt") }}, @_At);
{%- endif %}

{% include "part/give_back.sql" %}

{% include "part/claim.sql" %}

        COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};
    END TRY
{% include "part/rollback.sql" %}

{% include "part/claimed_out.sql" %}

{% include "part/items_select.sql" %}

    RETURN 0;
END;
{% endfilter %}
