{%- import "macro/limit.sql" as limit -%}
{#- What is due of the keys that have room: each gets its share, and then what is left of its room. -#}
{%- import "macro/take_due.sql" as take -%}
{%- set frees = ["IS NULL"] + (["= N''"] if sought.is_text else []) %}
        SET @_Share = CASE WHEN @_Open = 0 THEN 0 ELSE (@_Room + @_Open - 1) / @_Open END;
        SET @_Turn = 1;
        WHILE @_Locked < @_Room AND @_Turn <= 2 * @_Open
        BEGIN
            SELECT
                @_At = k.[Key],
                @_Free = k.[Free],
                @_Take = CASE WHEN @_Turn > @_Open THEN k.[Room] - @_Share WHEN k.[Room] < @_Share THEN k.[Room] ELSE @_Share END
            FROM @_Keys AS k
            WHERE k.[Turn] = CASE WHEN @_Turn > @_Open THEN @_Turn - @_Open ELSE @_Turn END;
            IF @_Take > @_Room - @_Locked
                SET @_Take = @_Room - @_Locked;
            SET @_Turn = @_Turn + 1;
            SET @_Took = 0;
            IF @_Take > 0 AND @_Free = 0
            BEGIN
{{- take.due("past", of_key="q." ~ sought.quoted ~ " = @_At") | indent(8, true) }}
                SET @_Took = @@ROWCOUNT;
            END;
{%- for free in frees %}
            IF @_Take > 0 AND @_Free = {{ loop.index }}
            BEGIN
{{- take.due("past", of_key="q." ~ sought.quoted ~ " " ~ free) | indent(8, true) }}
                SET @_Took = @@ROWCOUNT;
            END;
{%- endfor %}
            SET @_Locked = @_Locked + @_Took;
        END;
{%- for l in limits if l.by and l.nth != sought.nth %}

        /* Of several that one {{ l.name }} would let begin, as many as it has room for. */
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
        LEFT JOIN @_Held{{ l.nth }} AS h ON h.[Key] = n.[Key]
        OUTER APPLY (
            /* None of it is in work, so that no count waits here. */
            SELECT r.[Room]
            FROM {{ limit.function(l) }}(n.[Key], @_Now) AS r
            WHERE h.[Key] IS NULL
        ) AS r
        WHERE n.[Nth] > COALESCE(h.[Room], r.[Room]);
        SET @_Locked = @_Locked - @@ROWCOUNT;
{%- endfor %}
{% include "part/placed.sql" %}
