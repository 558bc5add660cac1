{%- set names = "?::json" -%}
{% include "part/owners.sql" %}
