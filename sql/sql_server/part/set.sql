{%- if settable %}

        /* Values to set in the items whose settlement counts: their rows are locked, and written to below as well. */
        IF @_Sets = 1
            UPDATE q
            SET
{%- for c in settable %}
                {{ c.quoted }} = {{ value.becomes(c, loop.index, item.kept(t, "q." ~ c.quoted) if c.is_text else "q." ~ c.quoted) }}{{ "," if not loop.last }}
{%- endfor %}
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN {{ table }} AS q WITH (ROWLOCK)
                ON {{ item.found(t, "i") }}
{{- value.given(settable) }}
            WHERE k.[Answer] = 'OK' AND i.[Set] IS NOT NULL
            OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
