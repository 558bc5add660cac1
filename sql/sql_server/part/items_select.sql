{#- A column of the answer that has the name of one of the item's is called otherwise: no name is there twice. -#}
{%- set of_item = item.columns(t) | lower ~ "\n" -%}
{{ "    " }}/* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
{%- for name in ["Answer", "Ordinal", "DueMs", "Key", "Token", "AttemptNum", "Status"] %}
        o.[{{ name }}]{{ " AS [Answer" ~ name ~ "]" if ("[" ~ name ~ "],\n") | lower in of_item }},
{%- endfor %}
{%- filter indent(4) %}{{ item.columns(t) | trim(",") }}{% endfilter %}
    FROM @_Out AS o
    LEFT JOIN {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON {{ item.found(t, "o") }} AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
{{- item.beside(t, " WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)") | indent(4) }}
{{- item.subtypes(t) | indent(4) }}
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
