{#-
The commit of this one statement does not wait for the log. Only what is a transaction by itself may say so: from within
a function it would hold for all that the caller's transaction does.
-#}
{%- if not durable %}WITH lazily AS MATERIALIZED (SELECT SET_CONFIG('synchronous_commit', 'off', TRUE))
{% endif -%}
