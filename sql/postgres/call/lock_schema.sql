{% include "part/lock_schema.sql" %}
