{#- Limits by key: `l` is the limit. -#}
{#- A value of its column as QueueLimit has it. -#}
{%- macro text(l, value) %}{{ value if l.is_text else "CAST(" ~ value ~ " AS nvarchar(300))" }}{% endmacro -%}
{#- Whether a value is a key at all: an item without one is not limited. -#}
{%- macro given(l, value) %}{{ value ~ (" <> N''" if l.is_text else " IS NOT NULL") }}{% endmacro -%}
{%- macro rate(l) %}{{ object(queue ~ "_Rate" ~ l.nth ~ "_fn") }}{% endmacro -%}
{#- What a claim calls to know the room of a key. -#}
{%- macro function(l) %}{{ object(queue ~ "_Limit" ~ l.nth ~ "_fn") }}{% endmacro -%}
