{% import "part/item.sql" as item -%}
{%- import "part/in_flight.sql" as flight -%}
{%- import "part/kind.sql" as kind -%}
{%- import "part/write.sql" as write -%}
{%- set procedure = "Next_" ~ queue ~ "_Apart_trx" -%}
{%- set claims = true -%}
{%- set each = false -%}
{%- set around = false -%}
{%- set takes_turns = true -%}
{%- set recover_max = "100" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Claim up to @Max due items, as Next_{{ queue }}_Set_trx does, while the table refuses some: a unique index, a CHECK or a trigger of it
lets no claim of them through. Those are left aside, for longer each time, and named in QueueRefused; the others are claimed.
One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves while the
queue has such items; the first of them is found by calling this after a claim that the table refused.
Each try is a transaction of its own, of half as many items as the one before that the table refused.
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}, QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Max int,
    @LeaseMs int = NULL{% if run_time %},
    @StartedAt datetime2(7) = NULL{% endif %}
{%- include "part/kind_parameters.sql" %}{% if marks_claims %},
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_{{ queue }} */{% endif %},
    @Recover int = 0 /* as there */
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
{% include "part/refusal_variables.sql" %}
{% include "part/around_variables.sql" %}

{% include "part/no_transaction.sql" %}

{% include "part/settings.sql" %}
{% include "part/check_lease.sql" %}
{%- include "part/check_kinds.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

{% include "part/around.sql" %}

    INSERT INTO @_Out ([Seq], [Answer], [Key], [AttemptNum], [Status])
    SELECT
        r.[Seq],
        'REFUSED',
        {{ "NULL" if own_types_only else item.as_text(t, "r") }},
        r.[Times],
        r.[Reason]
    FROM @_Told AS r;

{% include "part/claimed_out.sql" %}

{% include "part/items_select.sql" %}

    RETURN 0;
END;
{% endfilter %}
