{%- import "macro/item.sql" as item -%}
{%- import "macro/kind.sql" as kind -%}
{%- if marks_claims %}
{%- set procedure = "Claimed_" ~ queue -%}
{%- set s = "s" if beside else "q" -%}
{% filter made("PROCEDURE", procedure) %}
/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and waits for no lock.
Table access order: {{ queue ~ "_Lease, " if beside }}{{ called.table }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128), @Claim bigint
AS
BEGIN
{% include "part/head.sql" %}
{%- if "@_SilentMs" in item.until(t, "@_SilentMs") %}
    DECLARE @_SilentMs int = (SELECT s.[LeaseMs] FROM {{ object(queue ~ "_Setting_V") }} AS s);
{%- endif %}
{% include "part/clock_variables.sql" %}
{% include "part/out_table.sql" %}

{%- include "part/clock.sql" %}

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], {{ item.names(t) }}, [Token], [AttemptNum], [Status])
    SELECT
        ROW_NUMBER() OVER (ORDER BY {{ kind.ordered(due_columns) }}),
        CASE WHEN {{ s }}.[ClaimNum] < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        DATEDIFF_BIG(MILLISECOND, @_Now, {{ item.until(t, "@_SilentMs") }}) + 1,
        {{ item.as_text(t, "q", "quoted") }},
        {{ item.of_item(t) }},
        {{ item.token(t) }},
        {{ item.attempts(t) }},
        'Processing'
    FROM {{ t.lease if beside else table }} AS {{ s }}
        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_{{ "Lease_" if beside }}InFlight]))
{%- if beside %}
    INNER JOIN {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON {{ item.among(t) }}{{ item.kept_of(t) }}
{%- endif %}
    WHERE
        {{ "s.[Status] = 'Processing'\n        AND " if beside }}{{ item.stands(processing) }}
        AND {{ s }}.[ClaimNum] IN (@Claim, -@Claim)
{%- if beside %}
        AND s.[LeaseOwner] = @Worker
{%- endif %}
{%- if role.owner %}
        AND {{ item.owner(t) }} = @Worker
{%- endif %}
        AND {{ item.until(t, "@_SilentMs") }} > @_Now
{%- if own_types_only %}
        AND {% filter indent(8) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
    OPTION (LOOP JOIN, FORCE ORDER);

{% include "part/items_select.sql" %}
END;
{% endfilter %}
{%- endif %}
