{#- One statement: the table has it all. -#}
{% include "part/found_due.sql" %},

{% include "part/taken.sql" %}
{%- import "part/write.sql" as write %}
{{- write.changed(["attempts", "started", "error", "owner", "lease_until"], taken=true, claims=true, returns_row=true, gives=["position", "alone"]) }}

    (
    SELECT
        CASE WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        NULL::integer,
        lease_ms_::bigint,
        {{ m.columns() if own else m.key_text("q.key_", "_") }},
        {{ m.of("token") }},
        {{ m.of("attempt") }},
        q.status_,
{{- m.item_of_row() }}
    FROM changed AS q
{{- m.subtypes_joined() }}
    WHERE q.status_ = 'Processing'
    ORDER BY q.position_
    )
    UNION ALL
    /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
    SELECT
        'EMPTY', NULL::integer, 0::bigint, NULL::{{ m.key_type() }}, NULL::timestamptz, NULL::integer, NULL::text,
{{- m.no_item() }}
    FROM (SELECT BOOL_OR(c.status_ = 'Processing') AS any_ FROM changed AS c) AS e
    WHERE NOT e.any_
