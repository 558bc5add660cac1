{% import "macro/item.sql" as item -%}
{%- import "macro/in_flight.sql" as flight -%}
{%- import "macro/write.sql" as write -%}
{%- set procedure = "Recover_" ~ queue ~ "_trx" -%}
{% include "part/recover_items.sql" %}
{% filter made("PROCEDURE", procedure) %}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent: those whose leases ran out,
and those of a worker whose lock has been free for its grace (QueueLifeline). One row per item, with the answer RECOVERED and the
status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Where the table refuses, they come back one by one, and what it refuses is left aside: a row with the answer REFUSED, how often
it was refused, and why.
Table access order: as {{ queue }}_Recover.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Max int = 100,
    @Recover int = 1 /* 3 or more: unless somebody did within so many milliseconds */
AS
BEGIN
{% include "part/head.sql" %}
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;

{% include "part/no_transaction.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    EXECUTE {{ object(queue ~ "_Recover") }} @Max = @Max, @Recover = @Recover, {{ "@Worker = NULL, " if resume_own }}@Within = 0;
END;
{% endfilter %}
