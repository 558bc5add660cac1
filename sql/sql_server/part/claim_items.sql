{#- The one place where items are claimed. -#}
{%- set inner = queue ~ "_Claim" -%}
{%- set procedure = "Next_" ~ queue -%}
{%- set refusals = true -%}
{#- Whether an item of @_Due goes to the worker, or ends here. -#}
{%- set goes = "d.[AttemptNum] < @_MaxAttempts" ~ (" AND d.[Expired] IS NULL" if expires else "") -%}
{%- set ends_here = "(d.[AttemptNum] >= @_MaxAttempts OR d.[Expired] IS NOT NULL)" if expires else "d.[AttemptNum] >= @_MaxAttempts" -%}
{%- set key_out = t.key[0].type if own else "nvarchar(4000)" %}
{% filter made("PROCEDURE", inner) %}
/*
Claims up to @Max due items: their Status becomes Processing, AttemptNum + 1, a lease of @Worker begins.
Called by all Next_{{ queue }}_ procedures, and by Modify_{{ queue }}_Set_ after a settlement (@Within = 2). Nobody is granted it.
In transactions of its own (@Within = 0) it goes around what the table refuses: again with half as many items, at last with one,
which is left aside for longer each time, and named in QueueRefused; one that is refused until its attempts are spent ends Failed,
where the table lets it. In the caller's transaction a refusal is an error, and after a settlement nothing is claimed while
there are such items.
Locks: of the items in their order, passing over those that others hold{{ "; before all others the turn of the queue, which it waits for" if group or limits }}.
Returns the items as Next_{{ queue }}_Set_trx does, after the commit where it is its own; or, to a caller that wants no rows, one
item's key and token in @Key and @Token, and 0 in @DueMs if it only ended items whose attempts are spent{{ ", or that have expired" if expires }}.
Table access order: QueuePause, {{ "QueueTurn, " if group or limits }}{{ "QueueLimit, " if limits }}{{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}, QueueRefused.
*/
{{ create_or_alter }} PROCEDURE {{ object(inner) }}
    @Worker nvarchar(128), @Max int, @LeaseMs int, @Recover int,
    @Within int{{ ",\n    @StartedAt datetime2(7) = NULL" if run_time }}
{%- include "part/kind_parameters.sql" %},{{ "\n    @Claim bigint = NULL," if marks_claims }}
    @Returns bit = 1,
    @Key {{ key_out }} = NULL OUTPUT,
    @Token datetime2(7) = NULL OUTPUT, @DueMs bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
{%- if run_time %}
    DECLARE @_RunAt datetime2(7);
{%- endif %}
{% include "part/claim_tables.sql" %}
{%- if beside %}
{% include "part/change_table.sql" %}
{%- else %}
    DECLARE @_Written int = 0;
{%- endif %}
{% include "part/out_table.sql" %}
{% include "part/refusal_variables.sql" %}
    DECLARE @_Most int = @Max;
    DECLARE @_Tries int = 0;
    DECLARE @_Refuses int; /* 1: the table refuses some, in this try */
{% include "part/aside_table.sql" %}

{% include "part/settings.sql" %}
{% include "part/check_lease.sql" %}
{%- include "part/check_kinds.sql" %}
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;
    IF @Within = 2 AND EXISTS (SELECT 1 FROM {{ object("QueueRefused") }} AS r WHERE r.[Queue] = '{{ queue }}' AND r.[Doing] <> 'pause')
        SET @_Around = 1;

    WHILE @_Around = 0 AND @_Tries < 1000
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_Due;
        DELETE FROM @_Aside;
        SET @_Refuses = COALESCE((
            SELECT TOP (1) 1 FROM {{ object("QueueRefused") }} AS r WITH (READUNCOMMITTED) WHERE r.[Queue] = '{{ queue }}'
        ), 0);
        SET @_Paused = 0;
{%- if role.kind %}
        DELETE FROM @_PausedType;
{%- endif %}
        IF @_Refuses = 1
            SELECT @_Paused = COALESCE(MAX(CASE WHEN p.[Type] = N'' THEN 2 ELSE 1 END), 0)
            FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
            WHERE p.[Queue] = '{{ queue }}' AND (p.[Until] IS NULL OR p.[Until] > SYSUTCDATETIME());
{%- if role.kind %}
        IF @_Paused = 1
            INSERT INTO @_PausedType ([Type])
            SELECT p.[Type]
            FROM {{ object("QueuePause") }} AS p WITH (ROWLOCK)
            WHERE p.[Queue] = '{{ queue }}' AND (p.[Until] IS NULL OR p.[Until] > SYSUTCDATETIME());
{%- if own and asks_types and not asks_steps and searches_all and types | length <= 100 %}
        /* Sought by all types but the paused ones, none of what is paused is passed over. */
        IF @_Paused = 1 AND @Types IS NULL
            SET @Types = (
                SELECT CONCAT(N'["', STRING_AGG(STRING_ESCAPE(CAST(y.[Type] AS nvarchar(max)), 'json'), N'","'), N'"]')
                FROM {{ object(queue ~ "Type") }} AS y
            );
{%- endif %}
{%- endif %}
{%- if sought %}
        DELETE FROM @_Placed;
{%- endif %}
{%- if kind_searches %}
        SET @_Turn = COALESCE((SELECT MAX(n.[Turn]) + 1 FROM @_Turns AS n), @_Turn);
        DELETE FROM @_Wanted;
        DELETE FROM @_Turns;
        DELETE FROM @_Placed;
{%- endif %}
        SET @_Locked = 0;
{%- if shards %}
        SET @_Asked = 0;
{%- endif %}
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
{%- if group or limits %}
            EXECUTE {{ object("QueueTurnTake") }} '{{ queue }}';
{%- endif %}
            /* Recovery first: what it gives back is due at once. */
            {{ "IF @Recover > 0\n                " if not t.parks_errors }}EXECUTE {{ object(queue ~ "_Recover") }} @Max = 100, @Recover = @Recover, {{ "@Worker = @Worker, " if resume_own }}@Within = 1;
{%- filter indent(8) %}{% include "part/clock.sql" %}{% endfilter %}
{%- if run_time %}
            SET @_RunAt = COALESCE({{ item.theirs(t, "@StartedAt") }}, {{ at }});
{%- endif %}

            IF @_Refuses = 1
{% filter indent(8, true) %}{% include "part/aside.sql" %}{% endfilter %}

            /* Items that came back from the dead wait too. */
            IF @_Paused < 2
            BEGIN
{%- if limits %}
                EXECUTE {{ object(queue ~ "_Room") }}
                    @Max = @Max, @_Now = @_Now,{{ " @_At = @_At," if local_time }} @Room = @Max OUTPUT, @FreeAt = @_FreeAt OUTPUT
                    {{- ", @Keys = @_KeysText OUTPUT" if sought }};
{%- if sought %}
                DELETE FROM @_Keys;
                INSERT INTO @_Keys ([Nth], [Turn], [Key], [Room]{{ ", [AtOnce], [Left]" if weighted }})
                SELECT k.[Nth], k.[Turn], k.[Key], k.[Room]{{ ", k.[AtOnce], k.[Left]" if weighted }}
                FROM OPENJSON(@_KeysText) WITH (
                    [Nth] int '$.Nth', [Turn] int '$.Turn', [Key] nvarchar(300) '$.Key', [Room] int '$.Room'
                    {{- ", [AtOnce] int '$.AtOnce', [Left] int '$.Left'" if weighted }}
                ) AS k;
{%- endif %}
{%- endif %}
{% filter indent(8, true) %}{% include "part/claim.sql" %}{% endfilter %}
            END;

            /* The table has let them through. */
            IF @_Refuses = 1 AND @Within = 0
                DELETE r
                FROM @_Due AS d
                INNER JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = '{{ queue }}'
                        AND r.[Key] = {{ item.kept_key(t, "d") }}
                OPTION (LOOP JOIN, FORCE ORDER);

            IF @Within = 0
                COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};
            BREAK;
        END TRY
        BEGIN CATCH
            IF @Within > 0 THROW;
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            IF {{ object("QueueIsRefusal_fn") }}(@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Due)
                THROW;

            SET @_Locked = (SELECT COUNT(*) FROM @_Due);
            IF @_Locked > 1
                SET @Max = @_Locked / 2;
            ELSE
            BEGIN
                SET @Max = @_Most;
                SELECT @_RefusedKey = {{ item.kept_key(t, "d") }}
                FROM @_Due AS d;
                EXECUTE {{ object("QueueNoteRefusal") }}
                    @Queue = '{{ queue }}', @Key = @_RefusedKey, @Doing = 'claim', @Number = @_Number, @Reason = @_Reason,
                    @Times = @_Times OUTPUT;
                INSERT INTO @_Refusals ({{ item.names(t) }}, [Times], [Reason])
                SELECT {{ item.list(t, "d") }}, @_Times, LEFT(CONCAT(N'claim: ', @_Reason), 500)
                FROM @_Due AS d;
            END;
            DELETE FROM @_Due;{{ "\n            DELETE FROM @_Change;" if beside }}
        END CATCH;
    END;

    IF @Returns = 0
    BEGIN
        SELECT
{%- if beside %}
            @Key = {{ item.as_text(t, "w") }},
            @Token = w.[Token]
        FROM @_Due AS d
        INNER JOIN @_Change AS w
            ON {{ item.same(t, "w", "d") }}
        WHERE w.[Status] = 'Processing';
{%- else %}
            @Key = {{ item.as_text(t, "d") }},
            @Token = d.[Token]
        FROM @_Due AS d
        WHERE {{ goes }};
{%- endif %}
        SET @DueMs = (SELECT MIN(0) FROM @_Due WHERE @Key IS NULL);
        RETURN 0;
    END;

    INSERT INTO @_Out ([Seq], [Answer], [Key], [AttemptNum], [Status])
    SELECT
        r.[Seq], 'REFUSED',
        {{ "NULL" if own_types_only else item.as_text(t, "r") }},
        r.[Times], r.[Reason]
    FROM @_Refusals AS r;

{% include "part/claimed_out.sql" %}

{% include "part/items_select.sql" %}
END;
{% endfilter %}
