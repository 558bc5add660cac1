{%- set names = "?::json" -%}
{% include "script/_owners.sql" %}
