{%- set offset = "@Offset" -%}
{{ "    " }}/* After the commit, and in an order that no OUTPUT clause promises. */
    SELECT
        o.[Answer],
        o.[Ordinal],
        o.[DueMs],
        o.[Key],
        o.[Token],
        o.[AttemptNum],
        o.[Status],
{%- filter indent(4) %}{% include "adopted/_item_columns.sql" %}{% endfilter %}
    FROM @Out AS o
    LEFT JOIN {{ table }} AS q
        ON {{ n.found(key, seek, "o") }} AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
        ON {{ n.same(key, "s", "q") }}
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
