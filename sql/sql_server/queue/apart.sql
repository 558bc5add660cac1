{%- set procedure = "Next_" ~ queue ~ "_Apart_trx" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Claim up to @Max due items, as Next_{{ queue }}_Set_trx does, and recover nothing: for a client that has met a refusal of the table.
Table access order: as {{ queue }}_Recover, then as {{ queue }}_Claim.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128), @Max int,
    @LeaseMs int = NULL{% if run_time %},
    @StartedAt datetime2(7) = NULL{% endif %}
{%- include "part/kind_parameters.sql" %}{% if marks_claims %},
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_{{ queue }} */{% endif %},
    @Recover int = 0 /* as there */
AS
BEGIN
{% include "part/head.sql" %}

{% include "part/no_transaction.sql" %}

    EXECUTE {{ object("Next_" ~ queue ~ "_Set_trx") }}
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover
        {%- include "part/claim_more.sql" %};
END;
{% endfilter %}
