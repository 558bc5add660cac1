{% include "foreign/call.sql" %}
