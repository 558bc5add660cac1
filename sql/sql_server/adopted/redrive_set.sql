{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Redrive_" ~ queue ~ "_Set_trx" -%}
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
{%- if run_time %}
    DECLARE @RunAt datetime2(7);
{%- endif %}
{% include "adopted/_clock_variables.sql" %}
{% include "adopted/_item_table.sql" %}
{% include "adopted/_change_table.sql" %}
{% include "adopted/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "adopted/_read_items.sql" %}

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "adopted/_clock.sql" %}

{% include "relational/_remember.sql" %}
{%- set redrive = true %}

{% include "adopted/_judge.sql" %}

        INSERT INTO @Change (
            {{ n.names(key) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [DueAt], [Before]
        )
        SELECT
            {{ n.list(key, "i") }}, w.[Was], w.[Status], w.[AttemptNum], w.[Token],
            {{ n.kept_text(role.step, "[Step]") }},
            {{ n.kept_text(role.response, "[Response]") }},
            {{ n.kept_text(role.error, "[Error]") }},
            {{ "@Now" if role.due else "NULL" }},
            s.[UpdatedAt]
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "i") }}
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "i") }}
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- set guard = false %}
{%- set completes = false %}

{% include "adopted/_write.sql" %}

{% include "adopted/_remember_answers.sql" %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
{% include "relational/_replayed.sql" %}
    END CATCH;

{% include "adopted/_answers.sql" %}

{% include "adopted/_answers_select.sql" %}

    RETURN 0;
END;
GO
