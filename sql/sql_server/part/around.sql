{#- A claim, again and again while the table refuses it: of half as many, at last of one, which is left aside then. #}
    WHILE @_Tries < 1000
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_Due;
        DELETE FROM @_Aside;
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
            BEGIN TRANSACTION;
{%- if group %}
{% filter indent(4, true) %}{% include "part/group_lock.sql" %}{% endfilter %}
{%- endif %}
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}
{%- if run_time %}
            SET @_RunAt = COALESCE({{ item.theirs(t, "@StartedAt") }}, @_At);
{%- endif %}

{% filter indent(4, true) %}{% include "part/give_back.sql" %}{% endfilter %}

{% filter indent(4, true) %}{% include "part/aside.sql" %}{% endfilter %}

{% filter indent(4, true) %}{% include "part/claim.sql" %}{% endfilter %}

            /* The table has let them through. */
            DELETE r
            FROM @_Due AS d
            INNER JOIN {{ object("QueueRefused") }} AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = '{{ queue }}'
                    AND r.[Key] = {{ item.kept_key(t, "d") }}
            OPTION (LOOP JOIN, FORCE ORDER);

            COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};
            BREAK;
        END TRY
        BEGIN CATCH
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
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
                INSERT INTO @_Told ({{ item.names(t) }}, [Times], [Reason])
                SELECT {{ item.list(t, "d") }}, @_Times, LEFT(CONCAT(N'claim: ', @_Reason), 500)
                FROM @_Due AS d;
            END;
            DELETE FROM @_Due;
            DELETE FROM @_Change;
        END CATCH;
    END;
