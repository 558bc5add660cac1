{% import "part/item.sql" as item -%}
{%- import "part/in_flight.sql" as flight -%}
{%- import "part/write.sql" as write -%}
{%- set procedure = "Recover_" ~ queue ~ "_trx" -%}
{%- set claims = false -%}
{%- set takes_turns = true -%}
{%- set recover_max = "@Max" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Max int = 100,
    @Recover int = 1 /* 3 or more: unless somebody did within so many milliseconds */
AS
BEGIN
{% include "part/head.sql" %}
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;
{%- if resume_own %}
    DECLARE @Worker nvarchar(128);
{%- endif %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{% include "part/recover_tables.sql" %}
{% include "part/change_table.sql" %}

{% include "part/no_transaction.sql" %}

{% include "part/settings.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "part/clock.sql" %}

{% include "part/give_back.sql" %}

        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}

    SELECT
        'RECOVERED' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
{%- if own_types_only %}
        /* An item of a type that the caller may not see: only that there was one. */
        CASE
            WHEN a.[Seen] = 1
                THEN {{ item.as_text(t, "w") }}
        END AS [Key],
        CASE WHEN a.[Seen] = 1 THEN w.[Token] END AS [Token],
{%- else %}
        {{ item.as_text(t, "w") }} AS [Key],
        w.[Token],
{%- endif %}
        w.[AttemptNum],
        w.[Status]
    FROM @_Change AS w
{%- if own_types_only %}
    OUTER APPLY (
        SELECT 1 AS [Seen]
        FROM {{ table }} AS q
        WHERE
            {{ item.found(t, "w") }}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
    ) AS a
{%- endif %}
    WHERE w.[Was] = 'Processing'
    ORDER BY {{ item.list(t, "w") }};

    RETURN 0;
END;
{% endfilter %}
