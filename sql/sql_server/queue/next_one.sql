{%- set unmarked = true -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "Next_" ~ queue ~ "_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
{%- if transaction == "utx" %}
Claim one item inside the caller's transaction, to be worked on and settled there by Modify_{{ queue }}_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due.
{%- else %}
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_{{ queue }}_trx. An item that the table refuses is left aside.
{%- endif %}
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: as {{ queue }}_Recover, then as {{ queue }}_Claim.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128) = NULL, /* the holder of the lease; by default the connection's login and session number */
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
    DECLARE @_Key {{ t.key[0].type if own else "nvarchar(4000)" }};
    DECLARE @_Token datetime2(7);
    DECLARE @_DueMs bigint = 0;

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;{% endif %}

    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    /* Again where it only ended items whose attempts are spent: what comes behind them is due now. */
    WHILE @_DueMs = 0
    BEGIN
        EXECUTE {{ object(queue ~ "_Claim") }}
            @Worker = @Worker, @Max = 1, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = {{ 1 if transaction == "utx" else 0 }}
            {%- include "part/claim_more.sql" %},
            @Returns = 0, @Key = @_Key OUTPUT, @Token = @_Token OUTPUT, @DueMs = @_DueMs OUTPUT{{ "\n        WITH RESULT SETS NONE" if transaction == "trx" }};
        SET @Recover = 0;
    END;

    SELECT
        @_Key AS [{{ "EnqueuedAt" if own else "ItemKey" }}],
        @_Token AS [{{ "UpdatedAt" if own else "ItemToken" }}]
    WHERE @_Key IS NOT NULL;
END;
{% endfilter %}
{%- endfor %}
