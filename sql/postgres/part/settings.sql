{%- import "part/macros.sql" as m -%}
{%- macro read(name, otherwise) %}
{%- if settings_of.theirs %}{{ m.setting_or(name, otherwise) }}{% else %}{{ object("queue_setting") }}({{ text(setting ~ "." ~ name) }}, {{ otherwise }}){% endif %}
{%- endmacro -%}
{%- macro lease() %}COALESCE(lease_ms_, {{ read("leaseMs", lease_ms) }}){{ "::integer" if settings_of.theirs }}{% endmacro -%}
{%- macro settings(attempts=true, lease=true) %}
{%- if attempts %}
    max_attempts_ := {{ read("maxAttempts", max_attempts) }};
{%- endif %}
{%- if lease %}
    lease_ms_ := COALESCE(lease_ms_, {{ read("leaseMs", lease_ms) }});
{%- endif %}
{%- endmacro -%}
