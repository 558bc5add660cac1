    INSERT INTO {{ into }} ({{ item.names(t) }})
    SELECT TOP (@Max) {{ item.of_item(t) }}
{%- if by == "keys" %}
    FROM (SELECT DISTINCT {{ item.list(t, "g") }} FROM @_Given AS g) AS k
    INNER JOIN {{ table }} AS q{{ " WITH (" ~ hints ~ ")" if hints }}
        ON {{ item.found(t, "k") }}
{%- else %}
{%- set hint = [hints, "INDEX (" ~ index[by] ~ ")"] if by in index else [hints] %}
    FROM {{ table }} AS q{{ " WITH (" ~ hint | select | join(", ") ~ ")" if hint | select | list }}
{%- endif %}
{{- item.beside(t, " WITH (" ~ hints ~ ")" if hints) | indent(4) }}
{%- include "part/fits.sql" %}
    WHERE fit.[Fits] = 1{{ item.its(t, " AND ") }}
{%- if by in of_states %}
        AND q.[Status] IN ({{ item.states(of_states[by]) }})
{%- endif -%}
{{ further }}
    ORDER BY {{ item.of_item(t) }}
    OPTION ({{ "LOOP JOIN, FORCE ORDER, " if by == "keys" }}RECOMPILE);
{#- One search: the keys of the items that fit (`by`: through which index), into the table `into`, in their order. -#}
