{%- if settable %}

        /* Values to set in the items whose settlement counts: their rows are locked, and written to below as well. */
        IF @_Sets = 1
            UPDATE q
            SET
{%- for c in settable %}
                {{ c.quoted }} = {{ value.becomes(loop.index, item.kept(t, "q." ~ c.quoted) if c.is_text else "q." ~ c.quoted) }}{{ "," if not loop.last }}
{%- endfor %}
            FROM @_Item AS i
            INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "i") }}
{{- value.given(settable) }}
            WHERE k.[Answer] = 'OK' AND i.[Set] IS NOT NULL
            OPTION (LOOP JOIN, FORCE ORDER);
{%- import "macro/coded.sql" as coded %}
{%- set listed = settable | selectattr("is_coded") | list %}
{%- if listed %}

        IF @_Sets = 1 AND {{ coded.may_lose() }}
        BEGIN
            SET @_Lost = (
                SELECT TOP (1) CONCAT(N'item ', i.[Ordinal], N': "set.', x.[Name], N'"')
                FROM @_Item AS i
                INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
                INNER JOIN {{ table }} AS q
                    ON {{ item.found(t, "i") }}
                CROSS APPLY OPENJSON(i.[Set]) AS n
                CROSS APPLY (
                    SELECT
                        n.[key] AS [Name], n.[value] COLLATE Latin1_General_BIN2 AS [Given],
                        CASE n.[key]
{%- for c in listed %}
                            WHEN N'{{ c.name }}' THEN {{ coded.kept(c) }}
{%- endfor %}
                        END AS [Kept]
                ) AS x
                WHERE k.[Answer] = 'OK' AND {{ coded.has_lost("x") }}
                ORDER BY i.[Ordinal]
            );
{{- coded.refuse(procedure) }}
        END;
{%- endif %}
{%- endif %}
