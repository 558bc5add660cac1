{% import "macro/item.sql" as item -%}
{%- import "macro/in_flight.sql" as flight -%}
{%- import "macro/kind.sql" as kind -%}
{%- import "macro/write.sql" as write -%}
{%- include "part/claim_items.sql" %}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "Next_" ~ queue ~ "_Set_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
{%- if transaction == "utx" %}
Claim up to @Max due items inside the caller's transaction, to be worked on and settled there by Modify_{{ queue }}_Set_utx. Others
pass over them until he commits. Rolled back, they are as they were, and no attempt is spent.
{%- else %}
Claim up to @Max due items in one commit. An item that the table refuses is left aside: a row REFUSED, how often, and why.
{%- endif %}
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
{%- if resume_own %}
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
{%- endif %}
Table access order: as {{ queue }}_Recover, then as {{ queue }}_Claim.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
{%- if transaction == "utx" %}
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0{% else %}
    /*
    1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. More:
    as 1, unless somebody did within so many milliseconds.
    */
    @Recover int = 1{% endif %}{% if run_time %},
    @StartedAt datetime2(7) = NULL /* UTC: the time of the worker's whole run; NULL is now */{% endif %}
{%- include "part/kind_parameters.sql" %}{% if marks_claims %},
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_{{ queue }} */{% endif %}
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;{% endif %}

    EXECUTE {{ object(queue ~ "_Claim") }}
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = {{ 1 if transaction == "utx" else 0 }}
        {%- include "part/claim_more.sql" %};
END;
{% endfilter %}
{%- endfor %}
