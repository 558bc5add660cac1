{% import "macro/item.sql" as item -%}
{%- set of_key = "@EnqueuedAt" if own else "@Key" -%}
{%- set of_token = "@UpdatedAt" if own else "@Token" -%}
{%- set of_due = "@ScheduledFor" if own else "@Due" -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "Modify_" ~ queue ~ "_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
{%- if transaction == "utx" %}
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as Modify_{{ queue }}_Set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. A refusal leaves the transaction as it is; an error ends it (XACT_ABORT).
{%- else %}
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
{%- endif %}
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: {{ called.table }}, {{ queue ~ "_Lease, " if beside }}QueueTransition{% for u in t.subtypes %}, {{ queue ~ "_" ~ u.stem }}{% endfor %}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}{{ ", " ~ queue ~ "_Progress" if reports_alone and completion != "keep" }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
{%- if own %}
    @EnqueuedAt datetime2(7),
    @UpdatedAt datetime2(7), /* the concurrency token */
{%- else %}
    @Key nvarchar(4000),{{ " /* a JSON array, with a value for each column of the key */" if composite }}
    @Token datetime2(7), /* the concurrency token */
{%- endif %}
    @Status varchar(20),
    @Step nvarchar(60) = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response nvarchar(max) = NULL, /* NULL keeps it */
    @Error nvarchar(max) = NULL, /* NULL keeps it */
    {{ of_due }} datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}
{%- if transaction == "trx" %}
    DECLARE @_Answer varchar(20), @_Is varchar(20);
    DECLARE @_Asked nvarchar(100) = {{ "CONCAT(@Status, N' at step ' + @Step)" if steps else "@Status" }};
{%- endif %}

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}{% endif %}

    SET @Worker = COALESCE(NULLIF(@Worker, N''), CONCAT(SUSER_SNAME(), N'/', @@SPID));
{%- if transaction == "trx" %}
    BEGIN TRY
        BEGIN TRANSACTION;
{%- endif %}
{%- set settled %}
        EXECUTE {{ object(queue ~ "_Settle") }}
            @Operation = NULL, @Worker = @Worker, @LeaseMs = NULL, @IsOne = 1, @Key = {{ of_key }}, @Token = {{ of_token }},
            @Attempt = @AttemptNum, @Status = @Status, @Step = @Step, @Response = @Response, @Error = @Error,
            @DueAt = {{ of_due }}, @Set = @Set{{ ",\n            @Returns = 0, @Answer = @_Answer OUTPUT, @Is = @_Is OUTPUT\n        WITH RESULT SETS NONE" if transaction == "trx" }};
{%- endset %}
{{- settled if transaction == "trx" else settled | replace("\n        ", "\n    ") }}
{%- if transaction == "trx" %}
        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}

    EXECUTE {{ object("QueueRefuse") }} N'{{ procedure }}', @_Answer, @_Is, @_Asked;
    SELECT v.*
{%- if own %}
    FROM {{ object("Worker_" ~ queue ~ "_V") }} AS v
    WHERE v.[EnqueuedAt] = @EnqueuedAt;
{%- else %}
    FROM (
        SELECT
{%- for k in t.key %}
            {{ item.read_part(t, k, loop.index0, "@Key") }} AS {{ k.var }}{{ "," if not loop.last }}
{%- endfor %}
    ) AS i
    INNER JOIN {{ object("Worker_" ~ queue ~ "_V") }} AS v
        ON {% for k in t.key %}v.{{ k.shown }} = i.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %};
{%- endif %}
{%- endif %}
END;
{% endfilter %}
{%- endfor %}
