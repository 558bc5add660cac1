{% import "macro/item.sql" as item -%}
{%- import "macro/write.sql" as write -%}
{%- import "macro/column.sql" as of -%}
{%- import "macro/take.sql" as take -%}
{%- set item_text = "@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,\ndue (UTC) or delay_ms" ~ ("; and after (an array of keys, and of places of earlier elements), on_failed" if after) ~ "." -%}
{%- if t.subtypes -%}
{%- set item_text = item_text ~ " What a subtype has is an object among the columns, by the subtype's name." -%}
{%- endif -%}
{%- set result_text = "One row per element: OK, its position, key and token" ~ ("; or DUPLICATE, when the same work is there" ~ (", with that item's key" if dedup.existing else "") if dedup else "") ~ "." -%}
{%- if dedup and dedup.replaces -%}
{%- set result_text = result_text ~ "\nIf that item waits, it gets the values of the new one, and its due time" ~ (" if that is later" if dedup.later else "") ~ ": its new token comes too." -%}
{%- endif -%}
{%- include "part/add_items.sql" %}
{%- for transaction in ["utx", "trx"] %}
{%- set procedure = "Add_" ~ queue ~ "_Set_" ~ transaction %}
{% filter made("PROCEDURE", procedure) %}
/*
Enqueue many items {{ "inside the caller's transaction: they are there when it commits, together with its other work.\nAny error ends that transaction (XACT_ABORT), a key that is taken too." if transaction == "utx" else "in one commit of their own." }}
{{ item_text }}
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
{{ result_text }}
Table access order: QueueOperation, {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_After" if after }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
{%- if transaction == "trx" %}
    @Operation uniqueidentifier, @Items nvarchar(max)
{%- else %}
    @Items nvarchar(max), @Operation uniqueidentifier = NULL
{%- endif %}
AS
BEGIN
{% if transaction == "trx" %}{% include "part/head.sql" %}{% else %}{% include "part/head_utx.sql" %}{% endif %}

{% if transaction == "trx" %}{% include "part/no_transaction.sql" %}{% else %}{% include "part/in_transaction.sql" %}{% endif %}

    EXECUTE {{ object(queue ~ "_Add") }} @Operation = @Operation, @Items = @Items, @Within = {{ 1 if transaction == "utx" else 0 }};
END;
{% endfilter %}
{%- endfor %}
