{%- if group %}

        IF @Max > 0
        BEGIN
{% filter indent(4, true) %}{% include "part/group_lock.sql" %}{% endfilter %}
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}
        END;
{%- endif %}

{% include "part/modify.sql" %}

{% include "part/remember_answers.sql" %}

        /* The table refuses some items: who claims next goes around them, in transactions of its own. */
        IF @Max > 0 AND EXISTS (SELECT 1 FROM {{ object("QueueRefused") }} AS r WHERE r.[Queue] = '{{ queue }}')
            SET @_Around = 1;
        IF @Max > 0 AND @_Around = 0
        BEGIN
{% filter indent(4, true) %}{% include "part/give_back.sql" %}{% endfilter %}

{% filter indent(4, true) %}{% include "part/claim.sql" %}{% endfilter %}
        END;
