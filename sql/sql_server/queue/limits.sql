{% import "macro/item.sql" as item -%}
{%- import "macro/limit.sql" as limit -%}
{%- import "macro/kind.sql" as kind -%}
{#- Whether a change is not over yet, and a number of one that is not. -#}
{%- macro is_standing(of) %}({{ of }}.[Until] IS NULL OR {{ of }}.[Until] > @Now){% endmacro -%}
{%- macro stands(of, number) %}CASE WHEN {{ is_standing(of) }} THEN {{ of }}.[{{ number }}] END{% endmacro -%}
{%- if limits %}
{%- for l in limits %}
{%- if l.rate %}
{% filter made("FUNCTION", queue ~ "_Rate" ~ l.nth ~ "_fn") %}
/*
The rate of the limit{{ " by " ~ l.name if l.by else " of all items" }} for one of its keys, as text: Rate starts in RateMs, Burst of them at once; Tokens may begin now. Called by
{{ queue }}_Limit{{ l.nth }}_fn and by claims, in their turn. Nobody is granted it.
Table access order: QueueLimit.
*/
{{ create_or_alter }} FUNCTION {{ limit.rate(l) }} (@Key nvarchar(300), @Now datetime2(7))
RETURNS TABLE
AS
RETURN
SELECT
    l.[Rate], l.[RateMs], l.[Burst],
    CASE WHEN t.[Is] > l.[Burst] THEN l.[Burst] ELSE t.[Is] END AS [Tokens]
FROM (
    SELECT
        COALESCE({{ stands("k", "Rate") }}, a.[Rate], {{ l.rate }}) AS [Rate],
        COALESCE({{ stands("k", "RateMs") }}, a.[RateMs], {{ l.rate_ms }}) AS [RateMs],
        COALESCE({{ stands("k", "Burst") }}, a.[Burst], {{ l.burst }}) AS [Burst],
        k.[Tokens], k.[TokensAt]
    FROM (SELECT @Key AS [Key]) AS n
    LEFT JOIN {{ object("QueueLimit") }} AS a WITH (ROWLOCK)
        ON a.[Queue] = '{{ queue }}' AND a.[By] = {{ text(l.name or "") }} AND a.[Key] = N'' AND {{ is_standing("a") }}
    LEFT JOIN {{ object("QueueLimit") }} AS k WITH (ROWLOCK)
        ON k.[Queue] = '{{ queue }}' AND k.[By] = {{ text(l.name or "") }} AND k.[Key] = n.[Key]
) AS l
CROSS APPLY (
    SELECT
        COALESCE(l.[Tokens], l.[Burst])
        /* A clock that went back takes nothing away. */
        + CASE
            WHEN l.[TokensAt] < @Now THEN CAST(DATEDIFF_BIG(MILLISECOND, l.[TokensAt], @Now) AS float) * l.[Rate] / l.[RateMs]
            ELSE 0
        END AS [Is]
) AS t;
{% endfilter %}
{%- endif %}
{% filter made("FUNCTION", queue ~ "_Limit" ~ l.nth ~ "_fn") %}
/*
{%- if l.by %}
The limit by {{ l.name }} for one of its keys (NULL: what holds for all of them): how many may be in work and are (no more are counted), the
rate, and how many may begin now: the room. FreeAt is when time makes room: by the rate, or at the end of a change; NULL where it does not.
{%- else %}
The limit of all items, as those by a column.
{%- endif %}
An item in work counts until it has ended, or a recovery has given it back. Called by claims, after they have taken their turn, and by
Limits_{{ queue }}. Nobody is granted it.
Table access order: QueueLimit, {{ queue ~ "_Lease" if beside else called.table }}.
*/
{{ create_or_alter }} FUNCTION {{ limit.function(l) }} ({{ "@Key " ~ l.type ~ ", " if l.by }}@Now datetime2(7))
RETURNS TABLE
AS
RETURN
{%- set untils = ["l.[Until]", "l.[UntilOfAll]"] %}
{%- if l.rate %}
{%- set is_full = "(l.[AtOnce] <= h.[InWork] OR r.[Tokens] < 1)" %}
{%- set untils = ["CASE WHEN r.[Tokens] < 1 THEN DATEADD(MILLISECOND, CAST(CEILING((1 - r.[Tokens]) * r.[RateMs] / r.[Rate]) AS int), @Now) END"] + untils %}
SELECT
    l.[AtOnce], h.[InWork], r.[Rate], r.[RateMs], r.[Burst], r.[Tokens],
    CASE
        WHEN {{ is_full }} THEN 0
        WHEN l.[AtOnce] - h.[InWork] < FLOOR(r.[Tokens]) THEN l.[AtOnce] - h.[InWork]
        ELSE CAST(FLOOR(r.[Tokens]) AS int)
    END AS [Room],
{%- else %}
{%- set is_full = "l.[AtOnce] <= h.[InWork]" %}
SELECT
    l.[AtOnce], h.[InWork],
    CAST(NULL AS int) AS [Rate], CAST(NULL AS bigint) AS [RateMs], CAST(NULL AS int) AS [Burst], CAST(NULL AS float) AS [Tokens],
    CASE WHEN {{ is_full }} THEN 0 ELSE COALESCE(l.[AtOnce] - h.[InWork], 2147483647) END AS [Room],
{%- endif %}
    (
        SELECT MIN(u.[At])
        FROM (
            VALUES
{%- for until in untils %}
                ({{ until }}){{ "," if not loop.last }}
{%- endfor %}
        ) AS u ([At])
        WHERE {{ is_full }} AND u.[At] IS NOT NULL
    ) AS [FreeAt]
FROM (
{%- if l.tiers %}
    SELECT
        COALESCE(
            k.[AtOnce], a.[AtOnce],
            /* By the item that is due first. */
            (
                SELECT TOP (1)
                    CASE CAST(q.{{ l.tiers.from }} AS nvarchar(300))
{%- for tier in l.tiers.numbers %}
                        WHEN {{ text(tier.value) }} THEN {{ tier.number }}
{%- endfor %}
                        ELSE {{ l.tiers.least }}
                    END
                FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_{{ queue }}_Limited]))
                WHERE q.{{ l.quoted }} = @Key AND {{ item.waits(t) }}
                ORDER BY {{ kind.ordered(due_columns) }}
            )
        ) AS [AtOnce],
        n.[Key], k.[Until], a.[Until] AS [UntilOfAll]
{%- else %}
    SELECT {{ "COALESCE(k.[AtOnce], a.[AtOnce], " ~ l.at_once ~ ")" if l.at_once else "COALESCE(k.[AtOnce], a.[AtOnce])" }} AS [AtOnce], n.[Key], k.[Until],
        a.[Until] AS [UntilOfAll]
{%- endif %}
    FROM (SELECT {{ "COALESCE(" ~ limit.text(l, "@Key") ~ ", N'')" if l.by else "N''" }} AS [Key]) AS n
    LEFT JOIN {{ object("QueueLimit") }} AS a WITH (ROWLOCK)
        ON a.[Queue] = '{{ queue }}' AND a.[By] = {{ text(l.name or "") }} AND a.[Key] = N'' AND {{ is_standing("a") }}
    LEFT JOIN {{ object("QueueLimit") }} AS k WITH (ROWLOCK)
        ON k.[Queue] = '{{ queue }}' AND k.[By] = {{ text(l.name or "") }} AND k.[Key] = n.[Key] AND {{ is_standing("k") }}
) AS l
CROSS APPLY (
    SELECT {{ "CAST(CASE WHEN SUM(w.[Weight]) > 2147483647 THEN 2147483647 ELSE COALESCE(SUM(w.[Weight]), 0) END AS int)" if l.weight else "COUNT(*)" }} AS [InWork]
    FROM (
        SELECT TOP (COALESCE(l.[AtOnce], 0)) {{ limit.weighs(limit.in_work_weight(l), "l.[AtOnce]") ~ " AS [Weight]" if l.weight else "1 AS [One]" }}
        FROM {{ limit.in_work() }} AS q WITH (ROWLOCK, {{ "FORCESEEK, " if l.by }}{{ limit.in_work_index(l) }})
        WHERE
            {{ limit.is_in_work() }}
{%- if l.by %}
            AND {{ limit.in_work_key(l) }} = {{ "NULLIF(l.[Key], N'')" if beside else "@Key" }}
{%- endif %}
    ) AS w
) AS h
{{- "\nCROSS APPLY " ~ limit.rate(l) ~ "(l.[Key], @Now) AS r" if l.rate }};
{% endfilter %}
{%- endfor %}
{% include "part/limit_room.sql" %}
{%- if limits | selectattr("rate") | list %}
{% filter made("PROCEDURE", queue ~ "_Spend") %}
/*
The starts of a claim count against the rates: @Starts has for each limit (Nth) and key how many Items began @Now. Called by
{{ queue }}_Claim, in its turn. Nobody is granted it.
Table access order: QueueLimit.
*/
{{ create_or_alter }} PROCEDURE {{ object(queue ~ "_Spend") }}
    @Starts nvarchar(max), @Now datetime2(7)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Spent TABLE ([Key] nvarchar(300) NOT NULL PRIMARY KEY, [Tokens] float NOT NULL, [FullAt] datetime2(7) NOT NULL);
{%- for l in limits if l.rate %}

    DELETE FROM @_Spent;
    INSERT INTO @_Spent ([Key], [Tokens], [FullAt])
    SELECT
        s.[Key], r.[Tokens] - s.[Items],
        DATEADD(SECOND, CAST(CASE WHEN f.[Seconds] > 1000000000 THEN 1000000000 ELSE f.[Seconds] END AS int), @Now)
    FROM OPENJSON(@Starts) WITH ([Nth] int '$.Nth', [Key] nvarchar(300) '$.Key', [Items] int '$.Items') AS s
    CROSS APPLY {{ limit.rate(l) }}(s.[Key], @Now) AS r
    CROSS APPLY (SELECT CEILING((r.[Burst] - r.[Tokens] + s.[Items]) * r.[RateMs] / r.[Rate] / 1000) AS [Seconds]) AS f
    WHERE s.[Nth] = {{ l.nth }};

    UPDATE x
    SET [Tokens] = s.[Tokens], [TokensAt] = @Now, [FullAt] = s.[FullAt]
    FROM @_Spent AS s
    INNER JOIN {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
        ON x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name or "") }} AND x.[Key] = s.[Key];
{%- if l.by %}

    INSERT INTO {{ object("QueueLimit") }} ([Queue], [By], [Key], [HasRate], [Tokens], [TokensAt], [FullAt])
    SELECT '{{ queue }}', {{ text(l.name) }}, s.[Key], 1, s.[Tokens], @Now, s.[FullAt]
    FROM @_Spent AS s
    WHERE NOT EXISTS (
        SELECT 1
        FROM {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
        WHERE x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name) }} AND x.[Key] = s.[Key]
    );

    /* A key that has all of its starts again is as one that was never used: a few of those behind, each time. */
    DELETE x
    FROM (
        SELECT TOP (20) l.[Key]
        FROM {{ object("QueueLimit") }} AS l WITH (ROWLOCK)
        WHERE
            l.[Queue] = '{{ queue }}' AND l.[By] = {{ text(l.name) }}
            AND l.[Key] > (SELECT MAX(s.[Key]) FROM @_Spent AS s)
        ORDER BY l.[Key]
    ) AS n
    INNER JOIN {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
        ON x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name) }} AND x.[Key] = n.[Key]
    WHERE (x.[SetAt] IS NULL OR x.[Until] <= @Now) AND x.[FullAt] <= @Now;
{%- endif %}
{%- endfor %}
END;
{% endfilter %}
{%- endif %}
{%- set procedure = "Limits_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
The limits of {{ queue }}: for each the row of all its keys (Key is ''), in which InWork counts all items, and rows of the keys that are in
work, or have limits of their own, or have begun something at the rate: at most 1,000, most in work first. Who, Reason, SetAt and Until are of
the last change; NULL: it is as the description says, and Until also where no time ends it.
Table access order: {{ queue ~ "_Lease" if beside else called.table }}, QueueLimit.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @_Out TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [By] nvarchar(128) NOT NULL, [Key] nvarchar(300) NOT NULL, [AtOnce] int NULL,
        [InWork] bigint NOT NULL, [Rate] int NULL, [RateMs] bigint NULL, [Burst] int NULL, [Tokens] float NULL, [FreeAt] datetime2(7) NULL
    );
{%- for l in limits %}
{%- set as = text(l.name or "") %}

    INSERT INTO @_Out ([By], [Key], [AtOnce], [InWork], [Rate], [RateMs], [Burst], [Tokens], [FreeAt])
    SELECT {{ as }}, N'', r.[AtOnce], k.[InWork], r.[Rate], r.[RateMs], r.[Burst], r.[Tokens], r.[FreeAt]
    FROM (
        SELECT COUNT(*) AS [InWork]
        FROM {{ limit.in_work() }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE {{ limit.is_in_work() }}
    ) AS k
    CROSS APPLY {{ limit.function(l) }}({{ "NULL, " if l.by }}@_Now) AS r;
{%- if l.by %}

    INSERT INTO @_Out ([By], [Key], [AtOnce], [InWork], [Rate], [RateMs], [Burst], [Tokens], [FreeAt])
    SELECT {{ as }}, {{ limit.text(l, "k.[Key]") }}, r.[AtOnce], {{ "r" if l.weight else "k" }}.[InWork], r.[Rate], r.[RateMs], r.[Burst], r.[Tokens], r.[FreeAt]
    FROM (
        SELECT TOP (1000) u.[Key], SUM(u.[InWork]) AS [InWork]
        FROM (
            SELECT {{ limit.read(l, limit.in_work_key(l)) if beside else limit.in_work_key(l) }} AS [Key], COUNT(*) AS [InWork]
            FROM {{ limit.in_work() }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE {{ limit.is_in_work() }} AND {{ limit.in_work_given(l) }}
            GROUP BY {{ limit.in_work_key(l) }}
            UNION ALL
            SELECT {{ limit.read(l, "l.[Key]") }}, 0
            FROM {{ object("QueueLimit") }} AS l WITH (ROWLOCK)
            WHERE l.[Queue] = '{{ queue }}' AND l.[By] = {{ as }} AND l.[Key] <> N''
        ) AS u
        WHERE u.[Key] IS NOT NULL
        GROUP BY u.[Key]
        ORDER BY SUM(u.[InWork]) DESC, u.[Key]
    ) AS k
    CROSS APPLY {{ limit.function(l) }}(k.[Key], @_Now) AS r
    ORDER BY k.[InWork] DESC, k.[Key];
{%- endif %}
{%- endfor %}

    SELECT
        o.[By], o.[Key], o.[AtOnce], o.[InWork], o.[Rate], o.[RateMs], o.[Burst], o.[Tokens], o.[FreeAt], l.[Who], l.[Reason], l.[SetAt], l.[Until]
    FROM @_Out AS o
    LEFT JOIN {{ object("QueueLimit") }} AS l WITH (ROWLOCK)
        ON
            l.[Queue] = '{{ queue }}' AND l.[By] = o.[By] AND l.[Key] = o.[Key]
            AND (l.[Until] IS NULL OR l.[Until] > @_Now)
    ORDER BY o.[Seq];
END;
{% endfilter %}
{%- set procedure = "Limit_" ~ queue ~ "_trx" -%}
{% filter made("PROCEDURE", procedure) %}
/*
Changes a limit of {{ queue }} from the next claim on, @By naming its column ('' is the limit of all items): of all keys, or of @Key alone.
@AtOnce 0: nothing begins. A rate (@Rate starts in @RateMs, @Burst of them at once, or all of them) only where the description has one. What
is NULL stays as it is described; all NULL: back to the description, as after @ForMs, or at @Until (UTC). Less takes effect as items end.
Table access order: QueueLimit.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @By nvarchar(128), @Key nvarchar(4000), @AtOnce int, @Rate int, @RateMs bigint, @Burst int, @Until datetime2(7), @ForMs bigint,
    @Who nvarchar(4000), @Reason nvarchar(4000)
AS
BEGIN
{% include "part/head.sql" %}
    DECLARE @_Rated bit, @_Wrong nvarchar(2048), @_Now datetime2(7) = SYSUTCDATETIME(), @_Changes bit;
    SET @By = COALESCE(@By, N'');
    SET @Key = COALESCE(@Key, N'');
{% include "part/no_transaction.sql" %}

    SELECT @_Rated = l.[HasRate]
    FROM {{ object("QueueLimit") }} AS l WITH (ROWLOCK)
    WHERE l.[Queue] = '{{ queue }}' AND l.[By] = @By AND l.[Key] = N'';
    SET @_Wrong = CASE
        WHEN @_Rated IS NULL THEN N'there is no limit by ' + @By
        WHEN COALESCE(@Who, N'') = N'' THEN N'@Who is empty'
        WHEN @Key <> N'' AND @By = N'' THEN N'the limit of all items has no keys'
        WHEN DATALENGTH(@Key) > 600 THEN N'@Key is longer than 300 characters'
        WHEN @AtOnce NOT BETWEEN 0 AND 1000000 THEN N'@AtOnce is from 0 to 1,000,000'
        WHEN @Rate IS NOT NULL AND @_Rated = 0 THEN N'the description gives this limit no rate to change'
        WHEN (@Rate IS NULL AND COALESCE(@RateMs, @Burst) IS NOT NULL) OR (@Rate IS NOT NULL AND @RateMs IS NULL)
            THEN N'@Rate and @RateMs go together, and @Burst with them'
        WHEN @Rate NOT BETWEEN 1 AND 1000000 OR @Burst NOT BETWEEN 1 AND 1000000 THEN N'@Rate and @Burst are from 1 to 1,000,000'
        WHEN @RateMs NOT BETWEEN 1 AND 86400000 THEN N'@RateMs is from 1 to 86,400,000'
        WHEN @ForMs > 3155760000000 THEN N'@ForMs is more than a hundred years'
        WHEN @Until <= @_Now OR @ForMs < 1 THEN N'the change must end in the future'
    END;
    IF @_Wrong IS NOT NULL
    BEGIN
        SET @_Wrong = REPLACE(CONCAT(N'{{ procedure }}: ', @_Wrong, N'.'), N'%', N'%%');
        THROW 50021, @_Wrong, 1;
    END;
{%- for l in limits if l.by and not l.is_text %}
    /* As the claim writes this key. */
    IF @By = {{ text(l.name) }} AND @Key <> N''
    BEGIN
        SET @Key = CAST(TRY_CAST(@Key AS {{ l.type }}) AS nvarchar(300));
        IF @Key IS NULL
            THROW 50021, N'{{ procedure }}: @Key is no value of its column.', 1;
    END;
{%- endfor %}

    IF @Until IS NULL
        SET @Until = DATEADD(MILLISECOND, @ForMs % 60000, DATEADD(MINUTE, @ForMs / 60000, @_Now));
    SET @_Changes = CASE WHEN COALESCE(@AtOnce, @Rate) IS NOT NULL THEN 1 ELSE 0 END;

    BEGIN TRANSACTION;
    UPDATE l
    SET
        [AtOnce] = @AtOnce, [Rate] = @Rate, [RateMs] = @RateMs, [Burst] = COALESCE(@Burst, @Rate),
        [Who] = CASE WHEN @_Changes = 1 THEN LEFT(@Who, 200) END,
        [Login] = CASE WHEN @_Changes = 1 THEN ORIGINAL_LOGIN() END,
        [Reason] = CASE WHEN @_Changes = 1 THEN NULLIF(LEFT(@Reason, 400), N'') END,
        [SetAt] = CASE WHEN @_Changes = 1 THEN @_Now END,
        [Until] = CASE WHEN @_Changes = 1 THEN @Until END
    FROM {{ object("QueueLimit") }} AS l WITH (UPDLOCK, ROWLOCK, SERIALIZABLE)
    WHERE l.[Queue] = '{{ queue }}' AND l.[By] = @By AND l.[Key] = @Key;
    IF @@ROWCOUNT = 0 AND @_Changes = 1
        INSERT INTO {{ object("QueueLimit") }} (
            [Queue], [By], [Key], [HasRate], [AtOnce], [Rate], [RateMs], [Burst], [Who], [Login], [Reason], [SetAt], [Until]
        )
        VALUES (
            '{{ queue }}', @By, @Key, @_Rated, @AtOnce, @Rate, @RateMs, COALESCE(@Burst, @Rate), LEFT(@Who, 200), ORIGINAL_LOGIN(),
            NULLIF(LEFT(@Reason, 400), N''), @_Now, @Until
        );
    /* Nothing is left of a key that is as the description says, and has begun nothing. */
    DELETE l
    FROM {{ object("QueueLimit") }} AS l WITH (ROWLOCK)
    WHERE l.[Queue] = '{{ queue }}' AND l.[By] = @By AND l.[Key] = @Key AND l.[Key] <> N'' AND l.[SetAt] IS NULL AND l.[Tokens] IS NULL;
    DELETE l
    FROM {{ object("QueueLimit") }} AS l WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE l.[Queue] = '{{ queue }}' AND l.[Key] <> N'' AND l.[Until] <= @_Now AND l.[Tokens] IS NULL;
    COMMIT TRANSACTION;
END;
{% endfilter %}
{% filter statement %}
/* The limits of the description; changes of those that go end with them. */
DELETE FROM {{ object("QueueLimit") }}
WHERE [Queue] = '{{ queue }}' AND [By] NOT IN ({% for l in limits %}{{ text(l.name or "") }}{{ ", " if not loop.last }}{% endfor %});
{% endfilter %}
{%- for l in limits %}
{% filter statement %}
UPDATE {{ object("QueueLimit") }}
SET [HasRate] = {{ 1 if l.rate else 0 }}
WHERE [Queue] = '{{ queue }}' AND [By] = {{ text(l.name or "") }} AND [Key] = N'';
IF @@ROWCOUNT = 0
    INSERT INTO {{ object("QueueLimit") }} ([Queue], [By], [Key], [HasRate])
    VALUES ('{{ queue }}', {{ text(l.name or "") }}, N'', {{ 1 if l.rate else 0 }});
{% endfilter %}
{%- endfor %}
{%- endif %}
