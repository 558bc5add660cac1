{#- Limits by key: `l` is the limit. -#}
{#- A value of its column as QueueLimit has it. -#}
{%- macro text(l, value) %}{{ value if l.is_text else "CAST(" ~ value ~ " AS nvarchar(300))" }}{% endmacro -%}
{#- Whether a value is a key at all: an item without one is not limited. -#}
{%- macro given(l, value) %}{{ value ~ (" <> N''" if l.is_text else " IS NOT NULL") }}{% endmacro -%}
{#-
Items in work: rows of the table, or of the one beside it, which keeps the key with which an item began, as text; and the
index in which they are found, by the key of a limit if it has one.
-#}
{%- import "macro/item.sql" as item -%}
{%- macro in_work() %}{{ t.lease if beside else table }}{% endmacro -%}
{%- macro is_in_work() %}{{ "q.[Status] = 'Processing'" if own or beside else item.stands(t.processing) }}{% endmacro -%}
{%- macro in_work_index(l) %}INDEX ([IX_{{ queue }}_{{ "Lease_" if beside }}{{ "InWork" ~ l.nth if l.by else "InFlight" }}]){% endmacro -%}
{%- macro in_work_key(l) %}{{ "q.[Limit" ~ l.nth ~ "]" if beside else "q." ~ l.quoted }}{% endmacro -%}
{%- macro in_work_given(l) %}{{ in_work_key(l) ~ " IS NOT NULL" if beside else given(l, in_work_key(l)) }}{% endmacro -%}
{#- As how many an item counts for a limit with weights, which is `most`. -#}
{%- macro weighs(weight, most) -%}
CAST(CASE WHEN {{ weight }} > {{ most }} THEN {{ most }} WHEN {{ weight }} > 1 THEN {{ weight }} ELSE 1 END AS bigint)
{%- endmacro -%}
{%- macro in_work_weight(l) %}{{ "q.[Weight" ~ l.nth ~ "]" if beside else "q." ~ l.weight.quoted }}{% endmacro -%}
{#- A key from its text. -#}
{%- macro read(l, key) %}{{ key if l.is_text else "TRY_CAST(" ~ key ~ " AS " ~ l.type ~ ")" }}{% endmacro -%}
{%- macro rate(l) %}{{ object(queue ~ "_Rate" ~ l.nth ~ "_fn") }}{% endmacro -%}
{#- The function that claims call for the room of a key. -#}
{%- macro function(l) %}{{ object(queue ~ "_Limit" ~ l.nth ~ "_fn") }}{% endmacro -%}
