{% import "macro/item.sql" as item -%}
{%- set procedure = "Purge_" ~ queue ~ "_trx" -%}
{%- set fits %}{% include "part/fits.sql" %}{% endset -%}
{%- set may_go = "fit.[Fits] = 1" ~ ("\n            AND " ~ item.not_waited_for() if after) -%}
{% filter made("PROCEDURE", procedure) %}
/*
Delete up to @Max finished items that fit @Filter, in the order of their keys{{ ", and as many rows of " ~ queue ~ ("_Lease" if beside else "_Progress") ~ "\nwhose items are gone" if beside or reports_alone }}. @Filter is that of Find_{{ queue }}; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}{{ ", " ~ queue ~ "_Progress" if reports_alone }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL, @Max int = 1000
AS
BEGIN
{% include "part/head.sql" %}
    SET DEADLOCK_PRIORITY LOW; /* A call that tidies up gives way. */
{% include "part/clock_variables.sql" %}
    DECLARE @_Purged int = 0;
{% include "part/purge_tables.sql" %}
{% include "part/filter.sql" %}

{% include "part/no_transaction.sql" %}

    SET @_Statuses = COALESCE(@_Statuses, N'[{"s":"Completed"}, {"s":"PartiallyCompleted"}, {"s":"Cancelled"}, {"s":"Terminated"}]');
    IF EXISTS (
        SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
        WHERE w.[s] IN ('Pending', 'Processing', 'Error', 'Paused')
    )
        THROW 50021, N'{{ procedure }}: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
{%- set of_states = {"ended": ["Failed", "Cancelled", "Paused", "Terminated", "PartiallyCompleted"]} %}
{%- set index = {"ended": "[IX_" ~ queue ~ "_Ended]"} %}
{%- set hints = "ROWLOCK, READPAST, READCOMMITTEDLOCK" %}
{%- set into = "@_Found" %}
{%- for by in ["keys", "ended", "all"] if own or by != "ended" %}
{%- set further %}
{%- if after %}
        AND {{ item.not_waited_for(", READPAST") }}
{%- endif %}
{%- if own and by == "all" %}
        /* An item that was enqueued later cannot have changed before. */
        AND (@_Before IS NULL OR q.[EnqueuedAt] < @_Before)
{%- endif %}
{%- endset %}
{%- if by == "keys" %}
        IF JSON_QUERY(@Filter, '$.keys') IS NOT NULL
{%- else %}
        ELSE{{ " IF CHARINDEX(N'\"Completed\"', @_Statuses) = 0" if by == "ended" }}
{%- endif %}
{%- filter indent(8) %}
{% include "part/search.sql" %}
{%- endfilter %}
{%- endfor %}

{%- include "part/purge_found.sql" %}
{#- Rows of a table of ours whose items are gone, unless they are new. -#}
{%- macro left(place, names, same_as, found_as, at) %}
{%- set minutes_ago = "DATEADD(MINUTE, -10, " ~ (t.at if role.token and at == "[UpdatedAt]" else "@_Now") ~ ")" %}

        IF @_Purged < @Max
        BEGIN
            /* Items that are gone from the table leave nothing behind. A look without locks waits for nobody; another makes sure. */
            DELETE FROM @_Found;
            INSERT INTO @_Found ({{ item.names(t) }})
            SELECT TOP (@Max) {{ names }}
            FROM {{ place }} AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE
                s.{{ at }} < {{ minutes_ago }}
                AND NOT EXISTS (
                    SELECT 1 FROM {{ table }} AS q WITH (READUNCOMMITTED)
                    WHERE {{ item.among(t) }}{{ same_as }}
                )
            OPTION (LOOP JOIN, FORCE ORDER);

            DELETE f
            FROM @_Found AS f
            WHERE EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ item.found(t, "f") }})
            OPTION (LOOP JOIN, FORCE ORDER);

            DELETE s
            FROM @_Found AS f
            INNER JOIN {{ place }} AS s WITH (ROWLOCK)
                ON {{ found_as }}
            WHERE s.{{ at }} < {{ minutes_ago }}
            OPTION (LOOP JOIN, FORCE ORDER);
        END;
{%- endmacro -%}
{%- if beside %}
{{- left(t.lease, item.of_kept(t), item.kept_of(t), item.kept_for(t, "f"), "[UpdatedAt]") }}
{%- elif reports_alone %}
{{- left(t.progress, item.attempt_list(t, "s"), item.attempt_is(t, "s"), item.attempt_of(t, "f", "s"), "[ReportedAt]") }}
{%- endif %}

        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}

    SELECT 'purged' AS [Name], CAST(@_Purged AS bigint) AS [Value];
END;
{% endfilter %}
