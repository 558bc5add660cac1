{% import "macro/item.sql" as item -%}
{%- set procedure = "Retain_" ~ queue ~ "_trx" -%}
{%- if retention or attempt_retention %}
{% filter statement %}
/* The row that a deleting call locks. */
INSERT INTO {{ object("QueueRetention") }} ([Queue], [DoneAt])
SELECT '{{ queue }}', CAST('0001-01-01' AS datetime2(7))
WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueRetention") }} AS r WHERE r.[Queue] = '{{ queue }}');
{% endfilter %}
{%- if retention %}
{%- set changed %}{% include "part/changed.sql" %}{% endset %}
{%- set fits = "" %}
{%- set may_go %}(
{%- for rule in retention %}
            {{ "OR " if not loop.first }}({{ item.status(t) | indent(12) }} = '{{ rule.state }}' AND {{ changed }} < DATEADD(SECOND, -{{ rule.seconds }}, @_Now))
{%- endfor %}
        )
{%- if after %}
            AND {{ item.not_waited_for() }}
{%- endif %}
{%- endset %}
{%- endif %}
{% filter made("PROCEDURE", procedure) %}
/*
Delete up to @Max items that ended longer ago than the description lets them stay:
{%- for rule in retention %} {{ rule.state }} after {{ rule.seconds }} s{{ "," if not loop.last else "." }}{% endfor %}
{%- if attempt_retention %}
Remembered attempts go {{ attempt_retention }} s after their end, each of them one more within @Max.
{%- endif %}
Workers call it again and again; it does something once in @IntervalMs, and then with each call until nothing is over, for
one caller at a time. It takes no other terms than these, so a role that may claim may have it. It passes over rows that others
hold. One row: purged, and how many it were; 0 when it was not the caller's turn or nothing is over.
Table access order: QueueRetention, passed over when another call holds the row, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}{{ ", " ~ queue ~ "_Progress" if reports_alone and retention }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @IntervalMs int = 60000, @Max int = 250
AS
BEGIN
{% include "part/head.sql" %}
    SET DEADLOCK_PRIORITY LOW; /* A call that tidies up gives way. */
{% include "part/clock_variables.sql" %}
    DECLARE @_Purged int = 0;
    DECLARE @_Turn int;
    DECLARE @_Count int = 0;
{%- if retention %}
{% include "part/purge_tables.sql" %}
{%- endif %}
{%- if attempt_retention %}
    DECLARE @_Old TABLE (
{{- item.declared(t) }}
        [Number] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ({{ item.names(t) }}, [Number])
    );
{%- endif %}

{% include "part/no_transaction.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 OR @IntervalMs IS NULL OR @IntervalMs < 0
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000, and @IntervalMs not negative.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}

        SELECT @_Turn = COUNT(*)
        FROM {{ object("QueueRetention") }} AS r WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = '{{ queue }}' AND ABS(DATEDIFF_BIG(MILLISECOND, r.[DoneAt], @_Now)) >= @IntervalMs;

        IF @_Turn = 1
        BEGIN
{%- for rule in retention %}
            INSERT INTO @_Found ({{ item.names(t) }})
            SELECT TOP (@Max - @_Count) {{ item.of_item(t) }}
            FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK{{ ", INDEX ([IX_" ~ queue ~ "_Ended])" if own and rule.state != "Completed" }})
{{- item.beside(t, " WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)") | indent(12) }}
            WHERE
                {{ item.status(t) | indent(8) }} = '{{ rule.state }}'
{%- if own and rule.state != "Completed" %}
                AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
{%- endif %}
                AND {{ changed }} < DATEADD(SECOND, -{{ rule.seconds }}, @_Now)
{%- if own %}
                /* An item that was enqueued later cannot have ended before: younger items are not read. */
                AND q.[EnqueuedAt] < DATEADD(SECOND, -{{ rule.seconds }}, @_Now)
{%- endif %}
{%- if after %}
                AND {{ item.not_waited_for(", READPAST") }}
{%- endif %}
            ORDER BY {{ item.of_item(t) }}{% if beside %}
            OPTION (LOOP JOIN, FORCE ORDER){% endif %};
            SET @_Count = @_Count + @@ROWCOUNT;
{%- endfor %}
{%- if attempt_retention %}
            INSERT INTO @_Old ({{ item.names(t) }}, [Number])
            SELECT TOP (@Max - @_Count) {{ item.attempt_names(t) }}, [Number]
            FROM {{ t.attempt }} WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Attempt_Ended]))
            WHERE [EndedAt] < DATEADD(SECOND, -{{ attempt_retention }}, @_Now)
            ORDER BY [EndedAt];
            SET @_Count = @_Count + @@ROWCOUNT;
{%- endif %}

            IF @_Count < @Max
                /* All is done. Else the next call goes on. */
                UPDATE {{ object("QueueRetention") }} WITH (ROWLOCK)
                SET [DoneAt] = @_Now
                WHERE [Queue] = '{{ queue }}';

{%- if retention %}
{%- filter indent(4) %}{% include "part/purge_found.sql" %}{% endfilter %}
{%- endif %}
{%- if attempt_retention %}

            /* By key, as those of an item that goes; who has their items writes new ones, and never these. */
            DELETE a
            FROM @_Old AS o
            INNER JOIN {{ t.attempt }} AS a WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON {{ item.attempt_of(t, "o") }} AND a.[Number] = o.[Number]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Purged = @_Purged + @@ROWCOUNT;
{%- endif %}
        END;

        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}

    SELECT 'purged' AS [Name], CAST(@_Purged AS bigint) AS [Value];
END;
{% endfilter %}
{%- endif %}
