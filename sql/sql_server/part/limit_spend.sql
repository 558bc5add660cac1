{#- Counts the starts against the rates. #}
            SET @_Starts = (
                SELECT s.[Nth], s.[Key], s.[Items]
                FROM (
{%- for l in rates %}
{%- if l.by %}
                    SELECT {{ l.nth }} AS [Nth], {{ limit.text(l, "q." ~ l.quoted) }} AS [Key], COUNT(*) AS [Items]
                    FROM @_Due AS d
                    INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                        ON {{ item.found(t, "d") }}
                    WHERE {{ goes }} AND {{ limit.given(l, "q." ~ l.quoted) }}
                    GROUP BY q.{{ l.quoted }}
{%- else %}
                    SELECT {{ l.nth }} AS [Nth], N'' AS [Key], COUNT(*) AS [Items]
                    FROM @_Due AS d
                    WHERE {{ goes }}
                    HAVING COUNT(*) > 0
{%- endif %}
{{- "\n                    UNION ALL" if not loop.last }}
{%- endfor %}
                ) AS s
                FOR JSON PATH
            );
            IF @_Starts IS NOT NULL
                EXECUTE {{ object(queue ~ "_Spend") }} @Starts = @_Starts, @Now = @_Now;