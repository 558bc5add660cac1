{% import "part/item.sql" as item -%}
{%- import "part/in_flight.sql" as flight -%}
{%- import "part/kind.sql" as kind -%}
{%- import "part/write.sql" as write -%}
{%- set claims = true -%}
{%- set each = false -%}
{%- set around = false -%}
{%- set recover_max = "100" -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "Next_" ~ queue ~ "_" ~ transaction %}
{#- A row that is locked to the end of somebody's transaction is no measure for others. #}
{%- set takes_turns = transaction == "trx" %}
{% filter made("PROCEDURE", procedure) %}
/*
{%- if transaction == "utx" %}
Claim one item inside the caller's transaction, to be worked on and settled there by Modify_{{ queue }}_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due.
{%- else %}
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_{{ queue }}_trx. What the table refuses is left aside.
{%- endif %}
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting {{ setting }}.leaseMs, or else {{ lease_ms }} */

{%- if transaction == "utx" %}
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0{% else %}
    /* 1: first give back the items of dead workers. 3 or more: unless somebody did within so many milliseconds. */
    @Recover int = 1{% endif %}{% if run_time %},
    @StartedAt datetime2(7) = NULL{% endif %}
{%- include "part/kind_parameters.sql" %}
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}
    DECLARE @Max int = 1;
{%- if marks_claims %}
    DECLARE @Claim bigint; /* none: the answer is not looked for */
{%- endif %}
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/claim_tables.sql" %}
{% include "part/recover_tables.sql" %}
{% include "part/change_table.sql" %}
{% if transaction == "trx" %}{% include "part/refusal_variables.sql" %}
{% include "part/around_variables.sql" %}{% else %}{% include "part/aside_table.sql" %}{% endif %}

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}{% endif %}

{% include "part/settings.sql" %}
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
{% include "part/check_lease.sql" %}
{%- include "part/check_kinds.sql" %}

{% if transaction == "trx" %}
{% include "part/around.sql" %}
{%- else %}
{%- filter replace("\n        ", "\n    ") %}
{%- if group %}
{% include "part/group_lock.sql" %}
{%- endif %}
{%- include "part/clock.sql" %}
{%- if run_time %}
        SET @_RunAt = COALESCE({{ item.theirs(t, "@StartedAt") }}, @_At);
{%- endif %}

{% include "part/give_back.sql" %}

{% include "part/aside.sql" %}

{% include "part/claim.sql" %}{% endfilter %}
{%- endif %}

    IF @@NESTLEVEL < 32
        AND EXISTS (SELECT 1 FROM @_Due)
        AND NOT EXISTS (
            SELECT 1 FROM @_Due AS d{% if beside %} INNER JOIN @_Change AS w ON {{ item.same(t, "w", "d") }} WHERE w.[Status] = 'Processing'{% else %} WHERE d.[AttemptNum] < @_MaxAttempts{% endif %}
        )
    BEGIN
        /* It only ended items whose attempts are spent: what comes behind them is due now. */
        EXECUTE {{ object(procedure) }}
            @Worker = @Worker, @LeaseMs = @LeaseMs, @Recover = 0{{ ", @StartedAt = @StartedAt" if run_time }}
            {{- ", @Types = @Types" if asks_types }}{{ ", @Steps = @Steps" if asks_steps }};
        RETURN 0;
    END;
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
{%- endfor %}
