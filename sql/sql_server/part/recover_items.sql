{#- The one place where what dead workers held is given back. -#}
{%- set inner = queue ~ "_Recover" %}
{% filter made("PROCEDURE", inner) %}
/*
Gives the items of dead workers back, or ends them as Failed when their attempts are spent{{ "; and takes what is due again out of its wait" if t.parks_errors }}.
Called by Recover_{{ queue }}_trx, and by {{ queue }}_Claim, first of all (@Within = 1). Nobody is granted it.
Locks: rows that others hold are passed over, so nobody is waited for.
Returns a row per item, as Recover_{{ queue }}_trx does; within a claim nothing.
Table access order: QueueRecovery, QueueLifeline, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}, QueueRefused.
*/
{%- set uses %}{% include "part/give_back.sql" %}{% endset %}
{{ create_or_alter }} PROCEDURE {{ object(inner) }}
    @Max int, @Recover int,
{%- if resume_own %}
    @Worker nvarchar(128), /* with @Recover = 2: whose items come back, too */
{%- endif %}
    @Within bit /* 1: in the caller's transaction; 0: in transactions of its own, around what the table refuses */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
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
        [Token] datetime2(7) NOT NULL, [AttemptNum] int NOT NULL, [Status] varchar(20) NOT NULL
    );

{% include "part/settings.sql" %}

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
{%- filter indent(8) %}{% include "part/clock.sql" %}{% endfilter %}

{{ uses | indent(4, true) }}

            IF @Within = 0
                COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @Within = 1 THROW;
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
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
            INSERT INTO @_Refusals ({{ item.names(t) }}, [Times], [Reason])
            SELECT {{ item.list(t, "c") }}, @_Times, LEFT(CONCAT(N'recover: ', @_Reason), 500)
            FROM @_Candidate AS c;
        END CATCH;
        IF @Within = 1 RETURN 0;

        INSERT INTO @_Back ({{ item.names(t) }}, [Token], [AttemptNum], [Status])
        SELECT {{ item.list(t, "w") }}, w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Change AS w
{%- if beside %}
        WHERE w.[Was] = 'Processing'
{%- endif %}
        ORDER BY {{ item.list(t, "w") }};

        DELETE l
        FROM @_Left AS l
        WHERE l.[Seq] = (SELECT MIN(m.[Seq]) FROM @_Left AS m);
        IF NOT EXISTS (SELECT 1 FROM @_Left) BREAK;
    END;

    SELECT 'RECOVERED' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs],
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
        w.[AttemptNum], CAST(w.[Status] AS nvarchar(500)) AS [Status]
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
        'REFUSED', NULL, NULL,
        {{ "NULL" if own_types_only else item.as_text(t, "r") }},
        NULL, r.[Times], r.[Reason]
    FROM @_Refusals AS r
    ORDER BY [Answer], [Key];
END;
{% endfilter %}
