{#- The one place where settlements are judged and written. -#}
{%- set inner = queue ~ "_Settle" -%}
{%- set procedure = "Modify_" ~ queue %}
{% filter made("PROCEDURE", inner) %}
/*
Judges settlements of all callers (a worker, an operator, a program), and writes those that are OK.
Called by all Modify_{{ queue }}_ procedures, in a transaction. Nobody is granted it.
Items come as a JSON array, or one of them (@IsOne = 1) in the parameters behind.
Locks: the call's row in QueueOperation; then the items, in the order of their keys, each waited for.
Returns a row per item with its answer, or, to a caller that wants no rows, the answer of one in @Answer, and in @Is its state now.
An item whose answer is not OK is untouched.
Table access order: QueueOperation, {{ called.table }}, {{ queue ~ "_Lease, " if beside }}QueueTransition{% for u in t.subtypes %}, {{ queue ~ "_" ~ u.stem }}{% endfor %}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}{{ ", " ~ queue ~ "_Progress" if reports_alone and completion != "keep" }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(inner) }}
    @Operation uniqueidentifier, @Worker nvarchar(128), @LeaseMs int,
    @Items nvarchar(max) = NULL{{ ",\n    @StartedAt datetime2(7) = NULL" if run_time }},
    @IsNew bit = NULL OUTPUT, /* 0: the call was made before, and nothing is changed */
    @IsOne bit = 0,
    @Key {{ t.key[0].type if own else "nvarchar(4000)" }} = NULL,
    @Token datetime2(7) = NULL, @Attempt int = NULL, @Status varchar(20) = NULL, @Step nvarchar(60) = NULL,
    @Response nvarchar(max) = NULL, @Error nvarchar(max) = NULL, @DueAt datetime2(7) = NULL,
    @Set nvarchar(max) = NULL, @Returns bit = 1, @Answer varchar(20) = NULL OUTPUT, @Is varchar(20) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max);
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/item_table.sql" %}
{%- if beside %}
{% include "part/change_table.sql" %}
{%- else %}
    DECLARE @_Written int = 0;
{%- endif %}

    /* As of many. */
    IF @Set IS NOT NULL SET @Items = CONCAT(N'[{"set": ', @Set, N'}]');
{{- take.names(procedure, takes.modify) }}

{% include "part/settings.sql" %}
{% include "part/check_lease.sql" %}

    IF @IsOne = 1
        INSERT INTO @_Item (
            [Ordinal], [Key], {{ item.names(t) }}, [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
        )
        SELECT 0, @Key,
{%- if own %}
            @Key,
{%- else %}
{{- item.reads_text(t, "@Key") | indent(4) }}
{%- endif %}
            @Token, @Attempt, @Status, @Step, @Response, @Error, @DueAt, JSON_QUERY(@Items, '$[0].set');
    ELSE
{% filter indent(4, true) %}{% include "part/read_items.sql" %}{% endfilter %}
    SET @_Count = (SELECT COUNT(*) FROM @_Item);
{% include "part/check_set.sql" %}
{%- include "part/clock.sql" %}
{%- if run_time %}
    SET @_RunAt = COALESCE({{ item.theirs(t, "@StartedAt") }}, {{ at }});
{%- endif %}

    EXECUTE {{ object("QueueOperationTake") }} @Operation, '{{ procedure }}_Set', @_Now, @IsNew OUTPUT;
    IF @IsNew = 0
    BEGIN
        EXECUTE {{ object(queue ~ "_Answered") }} @Operation = @Operation, @Items = @Items;
        RETURN 0;
    END;
{%- filter replace("\n        ", "\n    ") %}
{% include "part/modify.sql" %}

{% include "part/remember_answers.sql" %}{% endfilter %}

    IF @Returns = 0
        SELECT @Answer = w.[Answer], @Is = w.[Status]
        FROM @_Work AS w;
    ELSE
{% filter indent(4, true) %}{% include "part/work_select.sql" %}{% endfilter %}
END;
{% endfilter %}
