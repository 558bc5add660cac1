{%- if dedup or subtypes -%}
{% include "relational/_add_one_of_set.sql" %}
{%- else -%}
{%- for transaction in ["utx", "trx"] %}
/*
Enqueue one item {{ "inside the caller's transaction" if transaction == "utx" else "in a commit of its own" }}.
Returns its key and its concurrency token.
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object("Add_" ~ queue ~ "_" ~ transaction) }}
    @Type {{ object("_Type") }} = {{ text(types[0]) }},
{%- for column in columns %}
    {{ column.parameter }} {{ column.type }}{{ " = NULL" if column.nullable }},
{%- endfor %}
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step {{ object("QueueStep") }} = NULL
AS
BEGIN
{%- if transaction == "trx" %}
{% include "relational/_procedure_head.sql" %}
{%- else %}
    SET NOCOUNT, XACT_ABORT ON;
{%- endif %}
    DECLARE @Number bigint;
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @EnqueuedAt datetime2(7);
{%- if transaction == "trx" %}
    DECLARE @Tries int = 0;

    IF @@TRANCOUNT > 0
        THROW 50012, N'Add_{{ queue }}_trx commits its own work: not to be called in a transaction.', 1;

    WHILE @EnqueuedAt IS NULL
    BEGIN
        BEGIN TRY
{%- else %}

    IF @@TRANCOUNT = 0
        THROW 50012, N'Add_{{ queue }}_utx works inside the transaction of its caller; begin one first.', 1;
{% endif %}
{% filter indent(8 if transaction == "trx" else 0, true) %}{% include "relational/_add_one.sql" %}{% endfilter %}
{%- if transaction == "trx" %}
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): the sequence has moved on, so the next key differs. */
            SET @EnqueuedAt = NULL;
            SET @Tries = @Tries + 1;
            IF ERROR_NUMBER() <> 2627 OR @Tries = 5
                THROW;
        END CATCH;
    END;
{%- endif %}

    SELECT
        @EnqueuedAt AS [EnqueuedAt],
        @Now AS [UpdatedAt];
    RETURN 0;
END;
GO
{%- endfor %}
{%- endif %}
