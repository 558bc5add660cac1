{% import "part/item.sql" as item -%}
{%- import "part/in_flight.sql" as flight -%}
{%- import "part/kind.sql" as kind -%}
{%- import "part/write.sql" as write -%}
{%- set procedure = "Next_" ~ queue ~ "_trx" -%}
{%- set claims = true -%}
{%- set takes_turns = true -%}
{%- set recover_max = "100" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_{{ queue }}_trx.
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting {{ setting }}.leaseMs, or else {{ lease_ms }} */
    /* 1: first give back the items of dead workers. 3 or more: unless somebody did within so many milliseconds. */
    @Recover int = 1{% if run_time %},
    @StartedAt datetime2(7) = NULL{% endif %}
{%- include "part/kind_parameters.sql" %}
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @Max int = 1;
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/claim_tables.sql" %}
{% include "part/recover_tables.sql" %}
{% include "part/change_table.sql" %}

{% include "part/no_transaction.sql" %}

{% include "part/settings.sql" %}
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
{% include "part/check_lease.sql" %}
{%- include "part/check_kinds.sql" %}

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
{% if own %}
    SELECT
        d.[Key1] AS [EnqueuedAt],
        d.[Token] AS [UpdatedAt]
    FROM @_Due AS d
    WHERE d.[AttemptNum] < @_MaxAttempts;
{%- elif beside %}
    SELECT
        {{ item.as_text(t, "w") }} AS [ItemKey],
        w.[Token] AS [ItemToken]
    FROM @_Due AS d
    INNER JOIN @_Change AS w
        ON {{ item.same(t, "w", "d") }}
    WHERE w.[Status] = 'Processing';
{%- else %}
    SELECT
        {{ item.as_text(t, "d") }} AS [ItemKey],
        d.[Token] AS [ItemToken]
    FROM @_Due AS d
    WHERE d.[AttemptNum] < @_MaxAttempts;
{%- endif %}

    RETURN 0;
END;
{% endfilter %}
