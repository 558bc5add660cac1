{%- if dedup %}

{% include "part/add_unique.sql" %}

    RETURN QUERY
{% set at = "now_" -%}
{% include "part/unique_answers.sql" %}
{%- else %}

    RETURN QUERY
{% include "part/add_stamped.sql" %}
    SELECT 'OK', i.ordinal, NULL::bigint, i.key, now_, 0, 'Pending'
    FROM item AS i
    ORDER BY i.ordinal;
{%- endif %}
