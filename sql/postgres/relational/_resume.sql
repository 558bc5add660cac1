    IF recover_ = 2 THEN
        now_ := clock_timestamp();
{%- set given_up = "q.lease_owner = worker_" %}
{%- set most = "100" %}
{%- set reason = "'Worker %s began anew on attempt %s of %s; the worker is taken for dead.'" %}
{% filter indent(4, true) %}{% include "relational/_recovered.sql" %}{% endfilter %}

        SELECT COUNT(*)
        INTO resumed_
        FROM recovered;
    END IF;
