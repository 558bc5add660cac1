{% import "macro/item.sql" as item -%}
{%- import "macro/in_flight.sql" as flight -%}
{%- import "macro/kind.sql" as kind -%}
{%- if not claimed_by_others %}
{#- Asked for all that waits: of its kinds the claim finds out. -#}
{%- set kind_searches = [] if searches_all else [kind_searches | last] -%}
{%- set procedure = "Due_" ~ queue -%}
{#- Something is due; in a paused queue it is claimed when the pause ends. -#}
{%- macro found() %}
    BEGIN
        SELECT @DueMs = CASE WHEN p.[Until] IS NOT NULL THEN DATEDIFF_BIG(MILLISECOND, @_Now, p.[Until]) + 1 END
        FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
        WHERE p.[Queue] = '{{ queue }}' AND p.[Type] = N'' AND (p.[Until] IS NULL OR p.[Until] > @_Now);
        RETURN;
    END;
{%- endmacro -%}
{%- set look %}WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ({{ t.due_index }})){% endset -%}
{% filter made("PROCEDURE", procedure) %}
/*
In how many milliseconds a claim may find something: 0 is now, NULL is not as things stand, and -1 that somebody is to look for
the items of dead workers, as nobody has within @Recover milliseconds. It keeps no lock, passes over what others hold, and
notes free locks of workers. More may look due than a claim gets: what waits behind its group, what is of a kind that the caller does not claim.
Called by QueueDue.
Table access order: QueueRecovery, QueueLifeline, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}, QueuePause, QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Recover int, @DueMs bigint OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
{% include "part/clock_variables.sql" %}
{%- if not searches_all %}
    DECLARE @_Wanted TABLE ([Kind] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Type] nvarchar(60) NOT NULL);
    INSERT INTO @_Wanted ([Type]) SELECT y.[Type] FROM {{ object(queue ~ "Type") }} AS y;
{%- endif %}
{% include "part/clock.sql" %}

    IF EXISTS (
        SELECT 1
        FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = '{{ queue }}' AND ABS(DATEDIFF_BIG(MILLISECOND, r.[LookedAt], @_Now)) >= 500
    )
        AND EXISTS (
            SELECT 1 {{ flight.from(t, queue) }}
        )
        EXECUTE {{ object("QueueLifelineLook") }} '{{ queue }}', @_Now;

    SET @DueMs = -1;
    IF EXISTS (
        SELECT 1
        FROM {{ object("QueueRecovery") }} AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = '{{ queue }}' AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) >= @Recover
    )
{%- if not beside %}
        AND EXISTS (
            SELECT 1 {{ flight.from(t, queue) }}
        )
{%- endif %}
        RETURN;

    SET @DueMs = 0;
{%- for value in [""] + (t.staged.others if t.staged else []) %}
{%- for when_due in kind.whens(t, role) | split(" ") %}
    IF EXISTS (
        SELECT 1
{%- if shards %}
{%- import "macro/shard.sql" as shard %}
        FROM {{ shard.all(shards) }}
        CROSS APPLY (
            SELECT TOP (1) 1 AS [Due] FROM {{ table }} AS q {{ look }}
            WHERE q.[Shard] = h.[Shard] AND {{ item.waits(t) }} AND {{ kind.due(t, when_due) }}
        ) AS u
{%- elif not searches_all %}
        FROM @_Wanted AS w
        CROSS APPLY (
            SELECT TOP (1) 1 AS [Due] FROM {{ table }} AS q {{ look }}
            WHERE {{ kind.is(kind_searches | last, role, "w.[Type]", "w.[Step]") }} AND {{ item.waits(t) }} AND {{ kind.due(t, when_due) }}
{{- item.and_free(t) | indent(4) }}
        ) AS u
{%- else %}
        FROM {{ table }} AS q {{ look }}
        WHERE {{ item.waits(t, "q", value) }}{% if when_due %} AND {{ kind.due(t, when_due) }}{% endif %}
{{- item.and_free(t) }}
{%- endif %}
    )
{{- found() }}
{%- endfor %}
{%- endfor %}
{%- if t.parks_errors %}
    IF EXISTS (
        SELECT 1
        FROM {{ t.lease }} AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Lease_Waiting]))
        WHERE s.[Status] = 'Error' AND s.[DueAt] <= @_Now
    )
{{- found() }}
{%- endif %}

    SET @DueMs = (
        SELECT MIN(x.[DueMs])
        FROM (
            SELECT CAST(NULL AS bigint) AS [DueMs]
            UNION ALL
{% include "part/next_due.sql" %}
        ) AS x
        WHERE x.[DueMs] IS NOT NULL
    );
END;
{% endfilter %}
{%- endif %}
