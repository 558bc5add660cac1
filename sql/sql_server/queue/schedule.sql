{% import "macro/item.sql" as item -%}
{%- import "macro/take.sql" as take -%}
{%- if schedules is not none %}
{%- set procedure = "Schedules_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
The schedules of {{ queue }}, the next to fire first, with the server's time; with @Most only the first so many of those that fire. It
changes nothing.
Table access order: QueueSchedule.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Most int = NULL
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Most int = COALESCE(@Most, 1000000);

    SELECT TOP (@_Most)
        s.[Name], s.[Cron], s.[Zone], s.[Items], s.[Missed], s.[Overlap], s.[Described], s.[Enabled],
        DATEDIFF_BIG(SECOND, '1970-01-01', s.[NextAt]) AS [NextAt],
        DATEDIFF_BIG(SECOND, '1970-01-01', s.[LastAt]) AS [LastAt],
        DATEDIFF_BIG(SECOND, '1970-01-01', s.[FiredAt]) AS [FiredAt], s.[LastKey], s.[LastAnswer],
        DATEDIFF_BIG(MILLISECOND, '1970-01-01', SYSUTCDATETIME()) AS [NowMs]
    FROM {{ object("QueueSchedule") }} AS s
    WHERE s.[Queue] = '{{ queue }}' AND (@Most IS NULL OR s.[Enabled] = 1)
    ORDER BY s.[NextAt], s.[Name];
END;
{% endfilter %}
{%- set procedure = "Fire_" ~ queue ~ "_trx" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Moves a schedule from the planned time @Was to @Next, and with @Adds = 1 puts its item in, due at @Was, in the same commit: of all who
call at a time, one does it, whenever the others die. @Was NULL: no time is computed yet. @Next NULL: puts the item in now, and the
planned time stays.
Returns FIRED or DUPLICATE with the item's key; SKIPPED, when its last item is not over yet and it is not to overlap; MOVED; or GONE,
when another call has moved it, or it is off.
Table access order: QueueSchedule, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Name nvarchar(100), @Was datetime2(7), @Next datetime2(7), @Adds bit
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Items nvarchar(max), @_Overlap varchar(10), @_LastKey nvarchar(400);
    DECLARE @_Answer varchar(20) = 'GONE', @_Key nvarchar(400);

{% include "part/no_transaction.sql" %}

    BEGIN TRY
        BEGIN TRANSACTION;
        UPDATE s
        SET [NextAt] = COALESCE(@Next, s.[NextAt])
        FROM {{ object("QueueSchedule") }} AS s WITH (ROWLOCK)
        WHERE
            s.[Queue] = '{{ queue }}' AND s.[Name] = @Name
            AND (
                @Next IS NULL
                OR (s.[Enabled] = 1 AND (s.[NextAt] = @Was OR (s.[NextAt] IS NULL AND @Was IS NULL)))
            );
        IF @@ROWCOUNT = 1 SET @_Answer = 'MOVED';

        IF @Adds = 1 AND @_Answer = 'MOVED'
        BEGIN
            SELECT @_Items = s.[Items], @_Overlap = s.[Overlap], @_LastKey = s.[LastKey]
            FROM {{ object("QueueSchedule") }} AS s
            WHERE s.[Queue] = '{{ queue }}' AND s.[Name] = @Name;

            /* The last one may be in somebody's hands: it is read as it is, and nobody is waited for. */
            IF @_Overlap = 'skip' AND EXISTS (
                SELECT 1
                FROM (
                    SELECT{{ item.reads_text(t, "@_LastKey") | trim(",") }}
                ) AS k ({{ item.names(t) }})
                INNER JOIN {{ table }} AS q WITH (READUNCOMMITTED)
                    ON {{ item.found(t, "k") }}
{{- item.beside(t, " WITH (READUNCOMMITTED)") | indent(8) | indent(16) }}
                WHERE NOT ({{ item.finished(item.status(t)) }})
            )
                SET @_Answer = 'SKIPPED';
            ELSE
            BEGIN
                SET @_Items = JSON_MODIFY(@_Items, '$[0].due', CONVERT(nvarchar(30), COALESCE(@Was, @_Now), 126));
                EXECUTE {{ object(queue ~ "_Add") }}
                    @Operation = NULL, @Items = @_Items, @Within = 1, @Returns = 0, @Answer = @_Answer OUTPUT, @Key = @_Key OUTPUT;
                IF @_Answer = 'OK' SET @_Answer = 'FIRED';
            END;
            UPDATE s
            SET
                [LastAt] = COALESCE(@Was, @_Now), [LastAnswer] = @_Answer,
                [FiredAt] = CASE WHEN @_Answer = 'SKIPPED' THEN s.[FiredAt] ELSE @_Now END, [LastKey] = COALESCE(@_Key, s.[LastKey])
            FROM {{ object("QueueSchedule") }} AS s WITH (ROWLOCK)
            WHERE s.[Queue] = '{{ queue }}' AND s.[Name] = @Name;
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT @_Answer AS [Answer], @_Key AS [Key];
END;
{% endfilter %}
{%- set procedure = "Schedule_" ~ queue ~ "_trx" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Makes, changes or with @Remove = 1 removes a schedule of {{ queue }}. NULL leaves what is there; a new one needs @Cron, @Zone and @Items,
a JSON array of one item as Add_{{ queue }}_Set_trx takes it, without due and delay_ms. @Missed is once, each or skip; @Overlap is allow or
skip. A time that is planned stays, unless the rule changes or the schedule was off. The library checks rules and zones, which no server knows.
Returns ADDED, CHANGED, REMOVED or NOT_FOUND.
Table access order: QueueSchedule.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Name nvarchar(4000), @Cron nvarchar(4000) = NULL, @Zone nvarchar(4000) = NULL, @Items nvarchar(max) = NULL,
    @Missed varchar(10) = NULL, @Overlap varchar(10) = NULL, @Enabled bit = NULL, @Remove bit = 0
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Answer varchar(20) = 'NOT_FOUND';

{% include "part/no_transaction.sql" %}
    /* In units of two bytes: LEN leaves blanks at the end out, and a parameter of their length would cut. */
    IF @Name IS NULL OR DATALENGTH(@Name) NOT BETWEEN 2 AND 200 OR @Name LIKE N'% '
        THROW 50021, N'{{ procedure }}: @Name has from 1 to 100 characters, and no blank at its end.', 1;
    IF DATALENGTH(@Cron) > 400 OR DATALENGTH(@Zone) > 128
        THROW 50021, N'{{ procedure }}: @Cron has at most 200 characters, and @Zone 64.', 1;
    IF @Missed NOT IN ('once', 'each', 'skip') THROW 50021, N'{{ procedure }}: @Missed is once, each or skip.', 1;
    IF @Overlap NOT IN ('allow', 'skip') THROW 50021, N'{{ procedure }}: @Overlap is allow or skip.', 1;
    IF @Items IS NOT NULL
    BEGIN
{{- take.items(procedure, takes.add) | indent(4) }}
        IF (SELECT COUNT(*) FROM OPENJSON(@Items)) <> 1 OR JSON_VALUE(@Items, '$[0].due') IS NOT NULL OR JSON_VALUE(@Items, '$[0].delay_ms') IS NOT NULL
            THROW 50021, N'{{ procedure }}: @Items is an array of one item, without due and delay_ms.', 1;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        IF @Remove = 1
        BEGIN
            DELETE s
            FROM {{ object("QueueSchedule") }} AS s WITH (ROWLOCK)
            WHERE s.[Queue] = '{{ queue }}' AND s.[Name] = @Name;
            IF @@ROWCOUNT = 1 SET @_Answer = 'REMOVED';
        END
        ELSE
        BEGIN
            UPDATE s
            SET
                [NextAt] = CASE
                    WHEN s.[Cron] = COALESCE(@Cron, s.[Cron]) AND s.[Zone] = COALESCE(@Zone, s.[Zone]) AND s.[Enabled] = 1 THEN s.[NextAt]
                END,
                [Cron] = COALESCE(@Cron, s.[Cron]), [Zone] = COALESCE(@Zone, s.[Zone]), [Items] = COALESCE(@Items, s.[Items]),
                [Missed] = COALESCE(@Missed, s.[Missed]), [Overlap] = COALESCE(@Overlap, s.[Overlap]),
                [Enabled] = COALESCE(@Enabled, s.[Enabled])
            FROM {{ object("QueueSchedule") }} AS s WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
            WHERE s.[Queue] = '{{ queue }}' AND s.[Name] = @Name;
            IF @@ROWCOUNT = 1
                SET @_Answer = 'CHANGED';
            ELSE IF @Cron IS NOT NULL AND @Zone IS NOT NULL AND @Items IS NOT NULL
            BEGIN
                INSERT INTO {{ object("QueueSchedule") }} (
                    [Queue], [Name], [Cron], [Zone], [Items], [Missed], [Overlap], [Described], [Enabled]
                )
                VALUES (
                    '{{ queue }}', @Name, @Cron, @Zone, @Items, COALESCE(@Missed, 'once'), COALESCE(@Overlap, 'allow'), 0,
                    COALESCE(@Enabled, 1)
                );
                SET @_Answer = 'ADDED';
            END;
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT @_Answer AS [Answer];
END;
{% endfilter %}
{% filter statement %}
/* The schedules of the description; those that were made at run time stay as they are. */
DELETE FROM {{ object("QueueSchedule") }}
WHERE [Queue] = '{{ queue }}' AND [Described] = 1{% if schedules %} AND [Name] NOT IN ({% for s in schedules %}{{ text(s.name) }}{{ ", " if not loop.last }}{% endfor %}){% endif %};
{% endfilter %}
{%- for s in schedules %}
{% filter statement %}
UPDATE {{ object("QueueSchedule") }}
SET
    [NextAt] = CASE WHEN [Cron] = {{ text(s.cron) }} AND [Zone] = {{ text(s.zone) }} THEN [NextAt] END,
    [Cron] = {{ text(s.cron) }}, [Zone] = {{ text(s.zone) }},
    [Items] = {{ text(s.items) }},
    [Missed] = {{ text(s.missed) }}, [Overlap] = {{ text(s.overlap) }}, [Described] = 1
WHERE [Queue] = '{{ queue }}' AND [Name] = {{ text(s.name) }};
IF @@ROWCOUNT = 0
    INSERT INTO {{ object("QueueSchedule") }} (
        [Queue], [Name], [Cron], [Zone], [Items], [Missed], [Overlap], [Described], [Enabled]
    )
    VALUES (
        '{{ queue }}', {{ text(s.name) }}, {{ text(s.cron) }}, {{ text(s.zone) }},
        {{ text(s.items) }},
        {{ text(s.missed) }}, {{ text(s.overlap) }}, 1, 1
    );
{% endfilter %}
{%- endfor %}
{%- endif %}
