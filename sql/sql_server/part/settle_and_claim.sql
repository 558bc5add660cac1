{%- if group %}

        IF @Max > 0
        BEGIN
{% filter indent(4, true) %}{% include "part/group_lock.sql" %}{% endfilter %}
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}
        END;
{%- endif %}

{% include "part/modify.sql" %}

{% include "part/remember_answers.sql" %}

        IF @Max > 0
        BEGIN
{% filter indent(4, true) %}{% include "part/give_back.sql" %}{% endfilter %}

{% filter indent(4, true) %}{% include "part/claim.sql" %}{% endfilter %}
        END;
