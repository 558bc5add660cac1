{% import "part/item.sql" as item -%}
{%- import "part/in_flight.sql" as flight -%}
{%- import "part/write.sql" as write -%}
{%- set procedure = "Recover_" ~ queue ~ "_trx" -%}
{%- set claims = false -%}
{%- set each = true -%}
{%- set takes_turns = true -%}
{%- set recover_max = "@Max" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Where the table refuses, they come back one by one, and what it refuses is left aside: a row with the answer REFUSED, how often
it was refused, and why.
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
{% include "part/refusal_variables.sql" %}
    DECLARE @_Each int = 0; /* 1: one by one */
    DECLARE @_Left TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
{{- item.declared(t) }}
        [Together] int NOT NULL
    );
    DECLARE @_Back TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
{{- item.declared(t) }}
        [Token] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Status] varchar(20) NOT NULL
    );

{% include "part/no_transaction.sql" %}

{% include "part/settings.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}

{% filter indent(4, true) %}{% include "part/give_back.sql" %}{% endfilter %}

            COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF {{ object("QueueIsRefusal_fn") }}(@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Candidate)
                THROW;

            DELETE FROM @_Change;
            IF @_Each = 0 AND (SELECT COUNT(*) FROM @_Candidate) > 1
            BEGIN
                SET @_Each = 1;
                INSERT INTO @_Left ({{ item.names(t) }}, [Together])
                SELECT {{ item.list(t, "c") }}, c.[Together]
                FROM @_Candidate AS c
                ORDER BY c.[StartedAt];
                CONTINUE;
            END;

            SELECT @_RefusedKey = {{ item.kept_key(t, "c") }}
            FROM @_Candidate AS c;
            EXECUTE {{ object("QueueNoteRefusal") }}
                @Queue = '{{ queue }}', @Key = @_RefusedKey, @Doing = 'recover', @Number = @_Number, @Reason = @_Reason,
                @Times = @_Times OUTPUT;
            INSERT INTO @_Told ({{ item.names(t) }}, [Times], [Reason])
            SELECT {{ item.list(t, "c") }}, @_Times, LEFT(CONCAT(N'recover: ', @_Reason), 500)
            FROM @_Candidate AS c;
        END CATCH;

        INSERT INTO @_Back ({{ item.names(t) }}, [Token], [AttemptNum], [Status])
        SELECT {{ item.list(t, "w") }}, w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Change AS w
        WHERE w.[Was] = 'Processing'
        ORDER BY {{ item.list(t, "w") }};

        DELETE l
        FROM @_Left AS l
        WHERE l.[Seq] = (SELECT MIN(m.[Seq]) FROM @_Left AS m);
        IF NOT EXISTS (SELECT 1 FROM @_Left)
            BREAK;
    END;

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
        CAST(w.[Status] AS nvarchar(500)) AS [Status]
    FROM @_Back AS w
{%- if own_types_only %}
    OUTER APPLY (
        SELECT 1 AS [Seen]
        FROM {{ table }} AS q
        WHERE
            {{ item.found(t, "w") }}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
    ) AS a
{%- endif %}
    UNION ALL
    SELECT
        'REFUSED',
        NULL,
        NULL,
        {{ "NULL" if own_types_only else item.as_text(t, "r") }},
        NULL,
        r.[Times],
        r.[Reason]
    FROM @_Told AS r
    ORDER BY [Answer], [Key];

    RETURN 0;
END;
{% endfilter %}
