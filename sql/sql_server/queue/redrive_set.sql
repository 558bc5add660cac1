{% import "macro/item.sql" as item -%}
{%- import "macro/take.sql" as take -%}
{%- import "macro/write.sql" as write -%}
{%- set procedure = "Redrive_" ~ queue ~ "_Set_trx" -%}
{%- set redrive = true -%}
{% filter made("PROCEDURE", procedure) %}
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.{{ " DUPLICATE is work that is in the queue again, unfinished." if dedup and dedup.unfinished_only }}
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_IsNew bit, @_Result nvarchar(max);
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{%- if role.error and beside %}
    DECLARE @_ErrorChars int = COALESCE(
        (SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = '{{ setting }}.errorChars'), 2147483647
    );
{%- endif %}
{% include "part/clock_variables.sql" %}
{% include "part/item_table.sql" %}
{%- if beside %}
{% include "part/change_table.sql" %}
{%- endif %}

{% include "part/no_transaction.sql" %}
{{- take.names(procedure, takes.redrive) }}
    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
{{- item.asked(t, as_text=true) | trim(",") }}
        ) AS r
        WHERE {% for k in t.key %}(r.{{ k.var }} IS NOT NULL AND {{ item.read(k, "r." ~ k.var) }} IS NULL){{ " OR " if not loop.last }}{% endfor %}
    )
        THROW 50021, N'{{ procedure }}: one of the keys is not a key of {{ queue }}.', 1;

{% include "part/read_items.sql" %}
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}

        EXECUTE {{ object("QueueOperationTake") }} @Operation, '{{ procedure[:-4] }}', @_Now, @_IsNew OUTPUT;
        IF @_IsNew = 0
        BEGIN
            COMMIT TRANSACTION;
            EXECUTE {{ object(queue ~ "_Answered") }} @Operation = @Operation, @Items = @Items;
            RETURN 0;
        END;

{% include "part/judge_items.sql" %}

{%- if beside %}
        INSERT INTO @_Change (
            {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [DueAt], [Before]
        )
        SELECT
            {{ item.list(t, "i") }}, k.[Was], k.[Status], k.[AttemptNum], k.[Token],
            {{ item.step(t) }},
            {{ item.response(t) }},
            {{ item.error(t) }},
            @_Now,
            s.[UpdatedAt]
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q
            ON {{ item.found(t, "i") }}
{{- item.beside_of(t, "i") | indent(8) }}
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- import "macro/apply.sql" as change %}
{{ change.apply(x=dict(write.row, is={"duration": "NULL"})) }}
{%- else %}
        /* As if it were new. */
        UPDATE q
        SET
{%- set anew = {"owner": "NULL", "started": "NULL", "duration": "NULL"} if own else {"duration": "NULL"} %}
{%- set renews = {
    "to": "Pending", "attempts": "0", "token": "k.[Token]",
    "is": dict(anew, lease_until="NULL", due=item.theirs(t, "@_Now")),
} %}
{{- write.assignments(t, renews) }}
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "i") }}
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'{{ queue }}: a row that was locked for the change changed all the same.', 1;
{%- endif %}

{% include "part/remember_answers.sql" %}

        COMMIT TRANSACTION;
    END TRY
{%- if own and dedup and dedup.unfinished_only %}
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        /* The same work has come between the look for it and the change: another try finds it. */
        IF ERROR_NUMBER() = 2601
            THROW 50005, N'{{ procedure }}: the same work was put in at once; try again.', 1;
        THROW;
    END CATCH;
{%- else %}
{% include "part/rollback.sql" %}
{%- endif %}

{% include "part/work_select.sql" %}
END;
{% endfilter %}
