{%- import "macro/limit.sql" as limit -%}
{%- import "macro/kind.sql" as kind -%}
{%- set frees = [{"is": "IS NULL", "value": "NULL"}] + ([{"is": "= N''", "value": "N''"}] if sought and sought.is_text else []) -%}
{%- macro due_of(condition) %}
            SELECT 1
            FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Limited]))
            WHERE
                {{ condition }}
                AND {{ item.waits(t) }}
                AND {{ kind.due(t, "past") }}
        {% endmacro -%}
{#-
How much may begin now: all counts before the first item is locked, since a count waits for who ends one, and that may wait for an
item.
-#}
        SET @_Room = @Max;
        SET @_FreeAt = NULL;
{%- for l in limits if not l.by %}
        SELECT
            @_Room = CASE WHEN l.[Room] < @_Room THEN l.[Room] ELSE @_Room END,
            @_FreeAt = l.[FreeAt]
        FROM {{ limit.function(l) }}(@_Now) AS l;
{%- endfor %}
{%- for l in limits if l.by and l.nth != sought.nth %}
        DELETE FROM @_Held{{ l.nth }};
        INSERT INTO @_Held{{ l.nth }} ([Key], [Room], [FreeAt])
        SELECT k.[Key], r.[Room], r.[FreeAt]
        FROM (
            SELECT q.{{ l.quoted }} AS [Key]
            FROM {{ table }} AS q WITH (ROWLOCK, INDEX ([IX_{{ queue }}_InWork{{ l.nth }}]))
            WHERE q.[Status] = 'Processing' AND {{ limit.given(l, "q." ~ l.quoted) }}
            UNION
            SELECT {{ "x.[Key]" if l.is_text else "TRY_CAST(x.[Key] AS " ~ l.type ~ ")" }}
            FROM {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
            WHERE x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name) }} AND x.[Key] <> N''
        ) AS k
        CROSS APPLY {{ limit.function(l) }}(k.[Key], @_Now) AS r
        WHERE k.[Key] IS NOT NULL;
{%- endfor %}
{%- if sought %}

        /*
        The values of {{ sought.name }} of which something is due, from the one behind the last that had its turn, once around, until enough
        have room. Each costs a few seeks, however much waits. After a thousand it leaves off, and the next claim goes on there.
        */
        DELETE FROM @_Keys;
        SET @_From = (
            SELECT {{ "NULLIF(t.[Position], N'')" if sought.is_text else "TRY_CAST(NULLIF(t.[Position], N'') AS " ~ sought.type ~ ")" }}
            FROM {{ object("QueueTurn") }} AS t WITH (ROWLOCK)
            WHERE t.[Queue] = '{{ queue }}'
        );
        SET @_At = @_From;
        SET @_Last = NULL;
        SET @_Round = CASE WHEN @_From IS NULL THEN 2 ELSE 1 END;
        SET @_Looks = 0;
        SET @_Open = 0;
        WHILE @_Round < 3 AND @_Looks < 1000 AND @_Open < CASE WHEN @_Room < 100 THEN @_Room ELSE 100 END
        BEGIN
            SET @_Next = NULL;
            IF @_At IS NULL
            BEGIN
{%- for free in frees %}
                /* Items without a key are one, and have room. */
                IF EXISTS ({{ due_of("q." ~ sought.quoted ~ " " ~ free.is) | indent(12) }})
                BEGIN
                    SET @_Open = @_Open + 1;
                    SET @_Last = N'';
                    INSERT INTO @_Keys ([Turn], [Key], [Room]) VALUES (@_Open, {{ free.value }}, @_Room);
                END;
{%- endfor %}
                SELECT TOP (1) @_Next = q.{{ sought.quoted }}
                FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Limited]))
                WHERE {{ item.waits(t) }} AND {{ "q." ~ sought.quoted ~ " > N''" if sought.is_text else "q." ~ sought.quoted ~ " IS NOT NULL" }}
                ORDER BY q.{{ sought.quoted }};
            END
            ELSE
                SELECT TOP (1) @_Next = q.{{ sought.quoted }}
                FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Limited]))
                WHERE {{ item.waits(t) }} AND q.{{ sought.quoted }} > @_At
                ORDER BY q.{{ sought.quoted }};

            SET @_At = @_Next;
            IF @_At IS NULL OR (@_Round = 2 AND @_At > @_From)
            BEGIN
                SET @_Round = @_Round + 1;
                SET @_At = NULL;
            END
            ELSE IF EXISTS ({{ due_of("q." ~ sought.quoted ~ " = @_At") | indent(8) }})
            BEGIN
                SET @_Looks = @_Looks + 1;
                SET @_Last = {{ limit.text(sought, "@_At") }};
                SELECT @_KeyRoom = l.[Room], @_KeyFreeAt = l.[FreeAt]
                FROM {{ limit.function(sought) }}(@_At, @_Now) AS l;
                IF @_KeyRoom > 0
                BEGIN
                    SET @_Open = @_Open + 1;
                    INSERT INTO @_Keys ([Turn], [Key], [Room])
                    VALUES (@_Open, @_At, CASE WHEN @_KeyRoom < @_Room THEN @_KeyRoom ELSE @_Room END);
                END;
                IF @_FreeAt IS NULL OR @_KeyFreeAt < @_FreeAt
                    SET @_FreeAt = @_KeyFreeAt;
            END;
        END;
        IF @_Looks >= 1000
            SET @_FreeAt = DATEADD(MILLISECOND, 100, @_Now);
{%- for l in limits if l.rate and l.by and l.nth != sought.nth %}
        SELECT @_FreeAt = MIN(h.[FreeAt])
        FROM @_Held{{ l.nth }} AS h
        HAVING MIN(h.[FreeAt]) < COALESCE(@_FreeAt, '9999-12-31');
{%- endfor %}
        UPDATE t
        SET [Position] = @_Last
        FROM {{ object("QueueTurn") }} AS t WITH (ROWLOCK)
        WHERE t.[Queue] = '{{ queue }}' AND @_Last <> COALESCE(t.[Position], N'-');
{%- endif %}
