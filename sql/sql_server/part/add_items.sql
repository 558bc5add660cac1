{#- The one place where items are put in. -#}
{%- set keeps_token = not own or (dedup and dedup.replaces) -%}
{%- set inner = queue ~ "_Add" -%}
{%- set procedure = "Add_" ~ queue %}
{% filter made("PROCEDURE", inner) %}
/*
Puts items into {{ called.table }}.
Called by the Add_{{ queue }}_Set_ procedures: in the caller's transaction (@Within = 1), or in one of its own
{{- ", and again when a key was taken" if own }}.
Nobody is granted it.
Returns an answer per element, as they do.
Table access order: QueueOperation, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_After" if after }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(inner) }}
    @Operation uniqueidentifier, @Items nvarchar(max), @Within bit
{%- if schedules is not none %},
    @Returns bit = 1, @Answer varchar(20) = NULL OUTPUT, @Key nvarchar(400) = NULL OUTPUT /* with 0, the answer of one */
{%- endif %}
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_IsNew bit = 0;
    DECLARE @_Result nvarchar(max);
{%- if own %}
    DECLARE @_Tries int = 0;
{%- endif %}
{% include "part/clock_variables.sql" %}
{% include "part/new_table.sql" %}
{% include "part/limit.sql" %}
{{- take.unchecked(procedure, takes.add) }}
{% if own %}
    WHILE @_Tries < 5
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_New;
        DELETE FROM @_Added;
        DELETE FROM @_Number;
{%- if dedup and dedup.replaces %}
        DELETE FROM @_Same;
{%- endif %}
{%- endif %}
{%- set tried %}
    BEGIN TRY
        IF @Within = 0
            BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}

        EXECUTE {{ object("QueueOperationTake") }} @Operation, '{{ procedure }}_Set', @_Now, @_IsNew OUTPUT;
        IF @_IsNew = 1
        BEGIN
{% filter indent(4, true) %}{% include "part/add.sql" %}

{% include "part/remember_added.sql" %}{% endfilter %}
        END;

        IF @Within = 0
            COMMIT TRANSACTION;
{%- if own %}
        BREAK;
{%- endif %}
    END TRY
    BEGIN CATCH
        IF @Within = 1 THROW;
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
{%- if own %}
        /* A key was taken (the clock was set back{{ "), or the same work came at once" if dedup else ")" }}: another try sees it. */
        IF ERROR_NUMBER() {{ "NOT IN (2601, 2627)" if dedup else "<> 2627" }} OR @_Tries = 5
            THROW;
{%- else %}
        THROW;
{%- endif %}
    END CATCH;
{%- endset %}
{{- tried | indent(4) if own else tried }}
{%- if own %}
    END;
{%- endif %}

    IF @_IsNew = 0
    BEGIN
        SELECT @_Result = p.[Result], @_Now = p.[At]
        FROM {{ object("QueueOperation") }} AS p
        WHERE p.[OperationId] = @Operation;

        INSERT INTO @_Added ([Ordinal], [Answer], [Key]{{ ", [Token], [Status]" if not own else ", [Token]" if keeps_token }})
        SELECT r.[ordinal], r.[answer], r.[key]{{ ", r.[token], r.[status]" if not own else ", r.[token]" if keeps_token }}
        FROM OPENJSON(@_Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] {{ item.key_type(t) }} '$.key'{{ "," if keeps_token }}
{%- if not own %}
            [token] datetime2(7) '$.token', [status] varchar(20) '$.status'
{%- elif keeps_token %}
            [token] datetime2(7) '$.token'
{%- endif %}
        ) AS r;
    END;

{%- if schedules is not none %}

    IF @Returns = 0
    BEGIN
        SELECT @Answer = a.[Answer], @Key = {{ item.one_text(t.key[0], "a.[Key]") if own else "LEFT(a.[Key], 400)" }}
        FROM @_Added AS a;
        RETURN 0;
    END;
{%- endif %}

    SELECT
        a.[Answer], a.[Ordinal], CAST(NULL AS bigint) AS [DueMs],
        {{ "a.[Key]" if not dedup or dedup.existing else "CASE WHEN a.[Answer] = 'OK' THEN a.[Key] END AS [Key]" }},
        {{ "a.[Token]" if keeps_token else "CASE WHEN a.[Answer] = 'OK' THEN @_Now END AS [Token]" }},
        {{ "CASE WHEN a.[Answer] = 'OK' THEN 0 END" if own else "0" }} AS [AttemptNum],
        {{ "CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]" if own else "a.[Status]" }}
    FROM @_Added AS a
    ORDER BY a.[Ordinal];
END;
{% endfilter %}
