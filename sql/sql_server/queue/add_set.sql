{% import "part/item.sql" as item -%}
{%- import "part/write.sql" as write -%}
{%- import "part/column.sql" as of -%}
{%- import "part/take.sql" as take -%}
{%- set item_text = "@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,\ndue (UTC) or delay_ms." -%}
{%- if t.subtypes -%}
{%- set item_text = item_text ~ " What a subtype has is an object among the columns, by the subtype's name." -%}
{%- endif -%}
{%- set result_text = "One row per element: OK, its position, key and token" ~ ("; or DUPLICATE, when the same work is there" ~ (", with that item's key" if dedup.existing else "") if dedup else "") ~ "." -%}
{%- for transaction in ["utx", "trx"] %}
{%- set procedure = "Add_" ~ queue ~ "_Set_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
Enqueue many items {{ "inside the caller's transaction: they are there when it commits, together with its other work.\nAny error ends that transaction (XACT_ABORT), a key that is taken too." if transaction == "utx" else "in one commit of their own." }}
{{ item_text }}
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
{{ result_text }}
Table access order: QueueOperation, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
{%- if transaction == "trx" %}
    @Operation uniqueidentifier,
    @Items nvarchar(max)
{%- else %}
    @Items nvarchar(max),
    @Operation uniqueidentifier = NULL
{%- endif %}
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}
{% include "part/remember_variables.sql" %}
{%- if transaction == "trx" %}
    DECLARE @_Tries int = 0;
{%- endif %}
{% include "part/clock_variables.sql" %}
{% include "part/new_table.sql" %}
{% if transaction == "trx" %}
{% include "part/no_transaction.sql" %}
{{- take.unchecked(procedure, takes.add) }}

    WHILE @_Tries < 5
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}
            DELETE FROM @_New;
            DELETE FROM @_Added;
{%- if own %}
            DELETE FROM @_Number;
{%- endif %}

{% filter indent(4, true) %}{% include "part/remember.sql" %}

{% include "part/add.sql" %}

{% include "part/remember_added.sql" %}{% endfilter %}

            COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() {{ "NOT IN (2601, 2627)" if own and dedup else "<> 2627" }}
                THROW;

            IF EXISTS (SELECT 1 FROM {{ object("QueueOperation") }} AS p WHERE p.[OperationId] = @Operation)
            BEGIN
                SET @_Replayed = 1;
                BREAK;
            END;
{%- if own %}

            /* A key was taken (the clock was set back{{ "), or the same work came at once" if dedup else ")" }}: another try sees it. */
            SET @_Tries = @_Tries + 1;
            IF @_Tries = 5
                THROW;
{%- else %}
            THROW;
{%- endif %}
        END CATCH;
    END;
{%- else %}
{% include "part/in_transaction.sql" %}
{{- take.unchecked(procedure, takes.add) }}
{%- filter replace("\n        ", "\n    ") %}{% include "part/clock.sql" %}

{% include "part/remember.sql" %}{% endfilter %}

    IF @_Replayed = 0
    BEGIN
{% include "part/add.sql" %}

{% include "part/remember_added.sql" %}
    END;
{%- endif %}

    IF @_Replayed = 1
    BEGIN
{% include "part/same_call.sql" %}
        DELETE FROM @_Added;
        SELECT
            @_Result = p.[Result],
            @_Now = p.[At]
        FROM {{ object("QueueOperation") }} AS p
        WHERE p.[OperationId] = @Operation;

        INSERT INTO @_Added ([Ordinal], [Answer], [Key]{{ ", [Token], [Status]" if not own }})
        SELECT r.[ordinal], r.[answer], r.[key]{{ ", r.[token], r.[status]" if not own }}
        FROM OPENJSON(@_Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] {{ item.key_type(t) }} '$.key'{{ "," if not own }}
{%- if not own %}
            [token] datetime2(7) '$.token', [status] varchar(20) '$.status'
{%- endif %}
        ) AS r;
    END;

    SELECT
        a.[Answer],
        a.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        {{ "a.[Key]" if not dedup or dedup.existing else "CASE WHEN a.[Answer] = 'OK' THEN a.[Key] END AS [Key]" }},
        {{ "CASE WHEN a.[Answer] = 'OK' THEN @_Now END AS [Token]" if own else "a.[Token]" }},
        {{ "CASE WHEN a.[Answer] = 'OK' THEN 0 END" if own else "0" }} AS [AttemptNum],
        {{ "CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]" if own else "a.[Status]" }}
    FROM @_Added AS a
    ORDER BY a.[Ordinal];

    RETURN 0;
END;
{% endfilter %}
{%- endfor %}
