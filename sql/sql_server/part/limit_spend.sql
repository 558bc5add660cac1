{%- import "macro/limit.sql" as limit -%}
{#- The starts of this claim count against the rates. -#}
{%- for l in limits if l.rate %}

            DELETE FROM @_Spent;
            INSERT INTO @_Spent ([Key], [Tokens], [FullAt])
            SELECT
                s.[Key], r.[Tokens] - s.[Items],
                DATEADD(SECOND, CAST(CASE WHEN f.[Seconds] > 1000000000 THEN 1000000000 ELSE f.[Seconds] END AS int), @_Now)
            FROM (
{%- if l.by %}
                SELECT {{ limit.text(l, "q." ~ l.quoted) }} AS [Key], COUNT(*) AS [Items]
                FROM @_Due AS d
                INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                    ON {{ item.found(t, "d") }}
                WHERE d.[AttemptNum] < @_MaxAttempts AND {{ limit.given(l, "q." ~ l.quoted) }}
                GROUP BY q.{{ l.quoted }}
{%- else %}
                SELECT N'' AS [Key], COUNT(*) AS [Items]
                FROM @_Due AS d
                WHERE d.[AttemptNum] < @_MaxAttempts
{%- endif %}
            ) AS s
            CROSS APPLY {{ limit.rate(l) }}(s.[Key], @_Now) AS r
            CROSS APPLY (SELECT CEILING((r.[Burst] - r.[Tokens] + s.[Items]) * r.[RateMs] / r.[Rate] / 1000) AS [Seconds]) AS f;

            UPDATE x
            SET [Tokens] = s.[Tokens], [TokensAt] = @_Now, [FullAt] = s.[FullAt]
            FROM @_Spent AS s
            INNER JOIN {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
                ON x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name or "") }} AND x.[Key] = s.[Key];
{%- if l.by %}

            INSERT INTO {{ object("QueueLimit") }} ([Queue], [By], [Key], [HasRate], [Tokens], [TokensAt], [FullAt])
            SELECT '{{ queue }}', {{ text(l.name) }}, s.[Key], 1, s.[Tokens], @_Now, s.[FullAt]
            FROM @_Spent AS s
            WHERE NOT EXISTS (
                SELECT 1
                FROM {{ object("QueueLimit") }} AS x WITH (ROWLOCK)
                WHERE x.[Queue] = '{{ queue }}' AND x.[By] = {{ text(l.name) }} AND x.[Key] = s.[Key]
            );
{%- endif %}
{%- endfor %}
