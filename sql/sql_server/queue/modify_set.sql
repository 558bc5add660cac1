{% import "macro/item.sql" as item -%}
{%- import "macro/take.sql" as take -%}
{%- import "macro/write.sql" as write -%}
{%- import "macro/column.sql" as of -%}
{%- import "macro/set_value.sql" as value -%}
{%- include "part/answered.sql" %}
{%- set redrive = false -%}
{%- include "part/settle_items.sql" %}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "Modify_" ~ queue ~ "_Set_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
{%- if transaction == "utx" %}
Settle many items inside the caller's transaction and, with @Max above 0, claim the next ones there: done when it
commits, undone with its other work when it does not. A refusal is an answer, and leaves the transaction as it is;
an error ends it (XACT_ABORT).
{%- else %}
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
{%- endif %}
@Items is a JSON array of objects: key{{ " (an array, with a value for each column)" if composite }}, token, attempt (0 for a call that is not a worker's), status
(left out for an edit: an item that waits stays as it is, but for its values and its due time), and where wanted step, response,
error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns{{ ", of a subtype's by its name" if t.subtypes }}: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_{{ queue }}_Set_trx returns them. An error may follow the rows: read to the end.
{%- if completion == "delete" %}
Completed items are deleted.
{%- elif completion == "history" %}
Completed items move to {{ called.history }}.
{%- endif %}
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
{{ "what the first call claimed, Claimed_" ~ queue ~ " returns by its @Claim." if marks_claims else "items claimed by the first call are left to their lease." }}
Table access order: QueueOperation, {{ called.table }}, {{ queue ~ "_Lease, " if beside }}QueueTransition{% for u in t.subtypes %}, {{ queue ~ "_" ~ u.stem }}{% endfor %}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}{{ ", " ~ queue ~ "_Progress" if reports_alone and completion != "keep" }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier, @Worker nvarchar(128), @Items nvarchar(max), @Max int = 0, @LeaseMs int = NULL,
    @Recover int = 0{% if run_time %},
    @StartedAt datetime2(7) = NULL /* UTC: the time of the worker's whole run; NULL is now */{% endif %}
{%- include "part/kind_parameters.sql" %}{% if marks_claims %},
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_{{ queue }} */{% endif %}
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}
    DECLARE @_IsNew bit;

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;{% endif %}
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 0 to 1000.', 1;
{% if transaction == "trx" %}
    BEGIN TRY
        BEGIN TRANSACTION;
{% include "part/settle_and_claim.sql" %}
        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}
{%- else %}
{%- filter replace("\n        ", "\n    ") %}
{% include "part/settle_and_claim.sql" %}{% endfilter %}
{%- endif %}
END;
{% endfilter %}
{%- endfor %}
