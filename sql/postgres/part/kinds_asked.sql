{#- The kinds that are asked for, as far as the caller may see them. #}
    SELECT {{ "ARRAY_AGG(t.type)" if search.type }}{{ ", " if search.type and search.step }}{{ "ARRAY_AGG(s.step)" if search.step }}
    INTO {{ "kind_types_" if search.type }}{{ ", " if search.type and search.step }}{{ "kind_steps_" if search.step }}
    FROM {% if search.type %}(
{%- if searches_all %}
        SELECT DISTINCT g.type
        FROM json_array_elements_text(types_) AS g (type)
{%- else %}
        SELECT g.type
        FROM UNNEST(ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}]) AS g (type)
        WHERE types_ IS NULL OR g.type IN (SELECT w.type FROM json_array_elements_text(types_) AS w (type))
{%- endif %}
    ) AS t
{%- endif %}
{%- if search.step %}
    {{ "CROSS JOIN " if search.type }}(
        SELECT DISTINCT g.step
        FROM json_array_elements_text(steps_) AS g (step)
    ) AS s
{%- endif %}
{%- if search.type and (own_types_only or apart) %}
    WHERE
{%- if apart %}
        NOT t.type = ANY(paused_){{ " AND" if own_types_only }}
{%- endif %}
{%- if own_types_only %}
        {{ m.type_seen("t.type") }}
{%- endif %}
{%- endif %};
    kinds_ := COALESCE(CARDINALITY({{ "kind_types_" if search.type else "kind_steps_" }}), 0);
