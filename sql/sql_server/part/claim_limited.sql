{%- import "macro/limit.sql" as limit -%}
{#- Takes due items of the keys that have room: each key gets its share, and then what is left of its room. -#}
{%- import "macro/take_due.sql" as take %}
        SET @_Open = (SELECT COUNT(*) FROM @_Keys AS k WHERE k.[Nth] = {{ sought.nth }});
        SET @_Share = CASE WHEN @_Open = 0 THEN 0 ELSE (@Max + @_Open - 1) / @_Open END;
        SET @_Turn = 1;
        WHILE @_Locked < @Max AND @_Turn <= 2 * @_Open
        BEGIN
            SELECT
                @_AtKey = {{ limit.read(sought, "k.[Key]") }},
                @_Take = CASE WHEN @_Turn > @_Open THEN k.[Room] - @_Share WHEN k.[Room] < @_Share THEN k.[Room] ELSE @_Share END
            FROM @_Keys AS k
            WHERE k.[Nth] = {{ sought.nth }} AND k.[Turn] = CASE WHEN @_Turn > @_Open THEN @_Turn - @_Open ELSE @_Turn END;
            IF @_Take > @Max - @_Locked
                SET @_Take = @Max - @_Locked;
            SET @_Turn = @_Turn + 1;
{%- for when_due in kind.whens(t, role) | split(" ") %}
            IF @_Take > 0
            BEGIN
{{- take.due(when_due, of_key="EXISTS (SELECT q." ~ sought.quoted ~ " INTERSECT SELECT @_AtKey) /* NULL is a key here, and sought as one */") | indent(8, true) }}
                SET @_Took = @@ROWCOUNT;
                SET @_Locked = @_Locked + @_Took;
{%- if not loop.last %}
                SET @_Take = @_Take - @_Took;
{%- endif %}
            END;
{%- endfor %}
        END;
{%- for l in filters %}

        /* A {{ l.name }} lets as many of them begin as it has room for. */
        DELETE d
        FROM @_Due AS d
        INNER JOIN (
            SELECT
                {{ item.list(t, "n") }}, q.{{ l.quoted }} AS [Key],
                ROW_NUMBER() OVER (PARTITION BY q.{{ l.quoted }} ORDER BY {{ kind.ordered(due_columns) }}) AS [Nth]
            FROM @_Due AS n
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "n") }}
            WHERE {{ limit.given(l, "q." ~ l.quoted) }}
        ) AS n
            ON {{ item.same(t, "n", "d") }}
        LEFT JOIN @_Keys AS h ON h.[Nth] = {{ l.nth }} AND h.[Key] = {{ limit.text(l, "n.[Key]") }}
        OUTER APPLY (
            /* None of it is in work, so that no count waits here. */
            SELECT r.[Room]
            FROM {{ limit.function(l) }}(n.[Key], @_Now) AS r
            WHERE h.[Key] IS NULL
        ) AS r
        WHERE n.[Nth] > COALESCE(h.[Room], r.[Room]);
        SET @_Locked = @_Locked - @@ROWCOUNT;
{%- endfor %}
{%- for l in weighted %}

        /* And no more than their weights fit into. */
        DELETE d
        FROM @_Due AS d
        INNER JOIN (
            SELECT
                {{ item.list(t, "n") }}, r.[Left],
                SUM({{ limit.weighs("q." ~ l.weight.quoted, "r.[AtOnce]") }}) OVER (
                    PARTITION BY q.{{ l.quoted }} ORDER BY {{ kind.ordered(due_columns) }} ROWS UNBOUNDED PRECEDING
                ) AS [Sum]
            FROM @_Due AS n
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "n") }}
            LEFT JOIN @_Keys AS h ON h.[Nth] = {{ l.nth }} AND h.[Key] = {{ limit.text(l, "q." ~ l.quoted) }}
            OUTER APPLY (
                /* None of it is in work, so that no count waits here. */
                SELECT r.[AtOnce], r.[AtOnce] - r.[InWork] AS [Left]
                FROM {{ limit.function(l) }}(q.{{ l.quoted }}, @_Now) AS r
                WHERE h.[Key] IS NULL
            ) AS f
            CROSS APPLY (SELECT COALESCE(h.[AtOnce], f.[AtOnce]) AS [AtOnce], COALESCE(h.[Left], f.[Left]) AS [Left]) AS r
            WHERE {{ limit.given(l, "q." ~ l.quoted) }}
        ) AS n
            ON {{ item.same(t, "n", "d") }}
        WHERE n.[Sum] > n.[Left];
        SET @_Locked = @_Locked - @@ROWCOUNT;
{%- endfor %}
{% include "part/placed.sql" %}
