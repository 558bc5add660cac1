{% import "part/item.sql" as item -%}
{%- import "part/judge.sql" as judge -%}
{%- import "part/write.sql" as write -%}
{%- import "part/column.sql" as of -%}
{%- set redrive = false -%}
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
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is; an error ends it (XACT_ABORT).
{%- else %}
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
{%- endif %}
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: {{ called.table }}, {{ queue ~ "_Lease, " if beside }}QueueTransition{% for u in t.subtypes %}, {{ queue ~ "_" ~ u.stem }}{% endfor %}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
{%- if own %}
    @EnqueuedAt {{ object("_Timestamp") }},
    @UpdatedAt {{ object("_Timestamp") }}, /* the concurrency token */
{%- else %}
    @Key nvarchar(4000),{{ " /* a JSON array, with a value for each column of the key */" if composite }}
    @Token datetime2(7), /* the concurrency token */
{%- endif %}
    @Status {{ object("QueueState") }},
    @Step {{ object("QueueStep") }} = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response {{ object("WebResponse") }} = NULL, /* NULL keeps it */
    @Error {{ object("WebResponse") }} = NULL, /* NULL keeps it */
    {{ of_due }} datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}
    DECLARE @LeaseMs int;
{%- if transaction == "trx" %}
    DECLARE @_Answer varchar(20);
    DECLARE @_Message nvarchar(2048);
{%- endif %}
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/item_table.sql" %}
{% include "part/change_table.sql" %}

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}{% endif %}

{% include "part/settings.sql" %}
    SET @LeaseMs = @_SilentMs;
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    INSERT INTO @_Item (
        [Ordinal], [Key], {{ item.names(t) }}, [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
    )
    SELECT
        0,
        NULL,
{%- if own %}
        @EnqueuedAt,
{%- else %}
{{- item.reads_text(t, "@Key") }}
{%- endif %}
        {{ of_token }}, @AttemptNum, @Status, @Step, @Response, @Error, {{ of_due }}, @Set;
    SET @_Count = 1;

{% include "part/check_set.sql" %}
{% if transaction == "trx" %}
    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "part/clock.sql" %}
{%- if run_time %}
        SET @_RunAt = @_At;
{%- endif %}

{% include "part/modify.sql" %}

        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}

    SELECT
        @_Answer = w.[Answer],
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        @_Message = REPLACE(CONCAT(
            N'{{ procedure }}: ', w.[Answer], N'; the item is ', COALESCE(w.[Status], N'not there'),
            N', asked for was ', @Status, {{ "N' at step ' + @Step, " if steps }}N'.'
        ), N'%', N'%%')
    FROM @_Work AS w;

    IF @_Answer = 'CONFLICT'
        THROW 50023, @_Message, 1;
    IF @_Answer = 'ILLEGAL_TRANSITION'
        THROW 50024, @_Message, 1;
    IF @_Answer = 'NOT_FOUND'
        THROW 50025, @_Message, 1;
    IF @_Answer = 'LEASE_LOST'
        THROW 50026, @_Message, 1;

    SELECT v.*
    FROM @_Item AS i
    INNER JOIN {{ object("Worker_" ~ queue ~ "_V") }} AS v
        ON {% for k in t.key %}v.{{ k.shown }} = i.{{ k.var }}{{ " AND " if not loop.last }}{% endfor %};

{%- else %}
{%- filter replace("\n        ", "\n    ") %}{% include "part/clock.sql" %}
{%- if run_time %}
        SET @_RunAt = @_At;
{%- endif %}

{% include "part/modify.sql" %}{% endfilter %}

    SELECT
        w.[Answer],
        w.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        {{ of_key }} AS [Key],
        w.[Token],
        w.[AttemptNum],
        w.[Status]
    FROM @_Work AS w;
{%- endif %}

    RETURN 0;
END;
{% endfilter %}
{%- endfor %}
