{#- One statement: the table has it all. -#}
{% include "part/found_due.sql" %},

{% include "part/taken.sql" %}
{%- import "part/write.sql" as write %}
{{- write.changed(["attempts", "started", "error", "owner", "lease_until"], taken=true, claims=true, returns_row=true, gives=["position", "alone"]) }}

    SELECT
        /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
        CASE WHEN q.status_ IS NULL THEN 'EMPTY' WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN q.status_ IS NULL THEN 0 ELSE lease_ms_::bigint END,
        {{ m.columns() if own else m.key_text("q.key_", "_") }},
        {{ m.of("token") }},
        {{ m.of("attempt") }},
        q.status_,
{{- m.item_of_row() | listed(8) }}
    FROM (SELECT COUNT(*) AS items FROM changed) AS c
    LEFT JOIN changed AS q ON q.status_ = 'Processing'
{{- m.subtypes_joined() }}
    WHERE
        CASE
            WHEN among_1_ IS NOT NULL AND c.items < (SELECT COUNT(*) FROM decided)
                THEN {{ object("queue_refuse_fn") }}('a trigger of the table leaves the row as it is', 'P0001') IS NULL
            ELSE c.items > 0
        END
    ORDER BY q.position_