{%- import "macro/kind.sql" as kind -%}
{%- set frees = [{"is": "IS NULL", "value": "NULL"}] + ([{"is": "= N''", "value": "N''"}] if sought and sought.is_text else []) -%}
{%- macro due_of(condition) -%}
{%- for when_due in kind.whens(t, role) | split(" ") -%}
{{ " OR " if not loop.first }}EXISTS (
            SELECT 1
            FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Limited]))
            WHERE
                {{ condition }}
                AND {{ item.waits(t) }}
{%- if when_due %}
                AND {{ kind.due(t, when_due) }}
{%- endif %}
        )
{%- endfor %}
{%- endmacro -%}
{%- set left_declared = ", [AtOnce] int NULL, [Left] int NULL" -%}
{%- macro left_of(l, of) %}
{%- if l.weight %}, {{ of }}.[AtOnce], {{ of }}.[Left]
{%- elif weighted %}, NULL{{ " AS [AtOnce]" if of == "k" }}, NULL{{ " AS [Left]" if of == "k" }}{% endif %}
{%- endmacro -%}
{% filter made("PROCEDURE", queue ~ "_Room") %}
/*
How much a claim of @Max items at @_Now{{ " (@_At on the table's clock)" if local_time }} may begin: @Room of all, until @FreeAt, when time makes room.
{%- if sought %} @Keys has the values of {{ sought.name }} of
which something is due and that have room, with how much, by turns: from the one behind the last that had its turn, once around, until enough
have room. Each costs a few seeks, however much waits. After a thousand it leaves off, and the next claim goes on there.
{%- endif %}
{%- if filters %}
For further limits it has the room of the keys that are in work, or have limits of their own.
{%- endif %}
Called by Watch_{{ queue }}, which only @Looks and takes no turn, and by {{ queue }}_Claim in its turn and before it locks an item, since a
count waits for who ends one, and that may wait for an item.
Nobody is granted it.
Table access order: {{ "QueueTurn, " if sought }}QueueLimit, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(queue ~ "_Room") }}
    @Max int, @_Now datetime2(7),{{ " @_At datetime2(7)," if local_time }} @Room int OUTPUT, @FreeAt datetime2(7) OUTPUT
    {{- ", @Keys nvarchar(max) OUTPUT" if sought }}, @Looks bit = 0
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    IF @Looks = 1
        SET LOCK_TIMEOUT 1000; /* Until this procedure ends. */
{%- if sought %}
    DECLARE @_From {{ sought.type }}, @_AtKey {{ sought.type }}, @_Next {{ sought.type }};
    DECLARE @_Last nvarchar(300), @_Round int, @_Looks int = 0, @_Open int = 0, @_KeyRoom int, @_KeyFreeAt datetime2(7);
{%- if sought.weight %}
    DECLARE @_AtOnce int, @_Left int;
{%- endif %}
    DECLARE @_Keys TABLE ([Turn] int NOT NULL PRIMARY KEY, [Key] nvarchar(300) NULL, [Room] int NOT NULL{{ left_declared if sought.weight }});
{%- endif %}
{%- for l in filters %}
    DECLARE @_Held{{ l.nth }} TABLE ([Key] {{ l.type }} NOT NULL PRIMARY KEY, [Room] int NOT NULL, [FreeAt] datetime2(7) NULL{{ left_declared if l.weight }});
{%- endfor %}
    SET @Room = @Max;
    SET @FreeAt = NULL;
{%- for l in limits if not l.by %}
    SELECT
        @Room = CASE WHEN l.[Room] < @Max THEN l.[Room] ELSE @Max END,
        @FreeAt = l.[FreeAt]
    FROM {{ limit.function(l) }}(@_Now) AS l;
{%- endfor %}
{%- for l in filters %}
    INSERT INTO @_Held{{ l.nth }} ([Key], [Room], [FreeAt]{{ ", [AtOnce], [Left]" if l.weight }})
    SELECT k.[Key], r.[Room], r.[FreeAt]{{ ", r.[AtOnce], r.[AtOnce] - r.[InWork]" if l.weight }}
    FROM (
        SELECT {{ limit.read(l, limit.in_work_key(l)) if beside else limit.in_work_key(l) }} AS [Key]
        FROM {{ limit.in_work() }} AS q WITH (ROWLOCK, {{ limit.in_work_index(l) }})
        WHERE {{ limit.is_in_work() }} AND {{ limit.in_work_given(l) }}
        UNION
        SELECT {{ limit.read(l, "x.[Key]") }}
        FROM {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
        WHERE x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name) }} AND x.[Key] <> N''
    ) AS k
    CROSS APPLY {{ limit.function(l) }}(k.[Key], @_Now) AS r
    WHERE k.[Key] IS NOT NULL;
{%- endfor %}
{%- if sought %}

    SET @_From = (
        SELECT {{ limit.read(sought, "NULLIF(t.[Position], N'')") }}
        FROM {{ object("QueueTurn") }} AS t WITH (ROWLOCK)
        WHERE t.[Queue] = '{{ queue }}'
    );
    SET @_AtKey = @_From;
    SET @_Round = CASE WHEN @_From IS NULL THEN 2 ELSE 1 END;
    WHILE @_Round < 3 AND @_Looks < 1000 AND @_Open < CASE WHEN @Room < 100 THEN @Room ELSE 100 END
    BEGIN
        SET @_Next = NULL;
        IF @_AtKey IS NULL
        BEGIN
{%- for free in frees %}
            /* Items without a key are one, and have room. */
            IF {{ due_of("q." ~ sought.quoted ~ " " ~ free.is) | indent(4) }}
            BEGIN
                SET @_Open = @_Open + 1;
                SET @_Last = N'';
                INSERT INTO @_Keys ([Turn], [Key], [Room]) VALUES (@_Open, {{ free.value }}, @Room);
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
            WHERE {{ item.waits(t) }} AND q.{{ sought.quoted }} > @_AtKey
            ORDER BY q.{{ sought.quoted }};

        SET @_AtKey = @_Next;
        IF @_AtKey IS NULL OR (@_Round = 2 AND @_AtKey > @_From)
        BEGIN
            SET @_Round = @_Round + 1;
            SET @_AtKey = NULL;
        END
        ELSE IF {{ due_of("q." ~ sought.quoted ~ " = @_AtKey") }}
        BEGIN
            SET @_Looks = @_Looks + 1;
            SET @_Last = {{ limit.text(sought, "@_AtKey") }};
            SELECT @_KeyRoom = l.[Room], @_KeyFreeAt = l.[FreeAt]{{ ", @_AtOnce = l.[AtOnce], @_Left = l.[AtOnce] - l.[InWork]" if sought.weight }}
            FROM {{ limit.function(sought) }}(@_AtKey, @_Now) AS l;
            IF @_KeyRoom > 0
            BEGIN
                SET @_Open = @_Open + 1;
                INSERT INTO @_Keys ([Turn], [Key], [Room]{{ ", [AtOnce], [Left]" if sought.weight }})
                VALUES (@_Open, @_Last, CASE WHEN @_KeyRoom < @Room THEN @_KeyRoom ELSE @Room END{{ ", @_AtOnce, @_Left" if sought.weight }});
            END;
            IF @FreeAt IS NULL OR @_KeyFreeAt < @FreeAt
                SET @FreeAt = @_KeyFreeAt;
        END;
    END;
    IF @_Looks >= 1000
        SET @FreeAt = DATEADD(MILLISECOND, 100, @_Now);
{%- for l in filters %}
    SELECT @FreeAt = MIN(h.[FreeAt])
    FROM @_Held{{ l.nth }} AS h
    WHERE h.[FreeAt] IS NOT NULL
    HAVING MIN(h.[FreeAt]) < COALESCE(@FreeAt, '9999-12-31');
{%- endfor %}
    UPDATE t
    SET [Position] = @_Last
    FROM {{ object("QueueTurn") }} AS t WITH (ROWLOCK)
    WHERE t.[Queue] = '{{ queue }}' AND @_Last <> COALESCE(t.[Position], N'-') AND @Looks = 0;

    SET @Keys = (
        SELECT k.[Nth], k.[Turn], k.[Key], k.[Room]{{ ", k.[AtOnce], k.[Left]" if weighted }}
        FROM (
            SELECT {{ sought.nth }} AS [Nth], k.[Turn], k.[Key], k.[Room]{{ left_of(sought, "k") }}
            FROM @_Keys AS k
{%- for l in filters %}
            UNION ALL
            SELECT {{ l.nth }}, NULL, {{ limit.text(l, "h.[Key]") }}, h.[Room]{{ left_of(l, "h") }}
            FROM @_Held{{ l.nth }} AS h
{%- endfor %}
        ) AS k
        FOR JSON PATH
    );
{%- endif %}
END;
{% endfilter %}
