{#- The claim of the items in `found`, of a table that has it all, and what it returns. #}
{% include "part/taken.sql" %}
{%- import "macro/write.sql" as write %}
{{- write.changed(["attempts", "started", "error", "owner", "lease_until"], taken=true, claims=true, returns_row=true, gives=(["position"] if not one else []) + ["alone"]) }}

{% if own and not knows_refused %}
    SELECT
        CASE WHEN q.status_ IS NULL THEN 'EMPTY' WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN q.status_ IS NULL THEN 0 ELSE lease_ms_::bigint END,
        {{ m.columns() }},
        {{ m.of("token") }},
        {{ m.of("attempt") }},
        q.status_,
{{- m.item_of_row() | listed(8) }}
    /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
    FROM (SELECT 1 AS one FROM changed LIMIT 1) AS c
    LEFT JOIN changed AS q ON q.status_ = 'Processing'
{{- m.subtypes_joined() }}
{%- if not one %}
    ORDER BY q.position_
{%- endif %}
{%- else %}
    SELECT
        CASE WHEN c.handed_out = 0 THEN 'EMPTY' WHEN c.alone THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN c.handed_out = 0 THEN 0 ELSE lease_ms_::bigint END,
        q.*
    FROM (
        SELECT COUNT(*) AS items, COUNT(*) FILTER (WHERE q.status_ = 'Processing') AS handed_out, BOOL_OR(q.alone_) AS alone
        FROM changed AS q
    ) AS c
    LEFT JOIN LATERAL (
        SELECT
            {{ m.columns() if own else m.key_text("q.key_", "_") }},
            {{ m.of("token") }},
            {{ m.of("attempt") }},
            q.status_,
{{- m.item_of_row() | listed(12) }}
        FROM changed AS q
{{- m.subtypes_joined() | indent(4) }}
        WHERE q.status_ = 'Processing'
        ORDER BY q.position_
    ) AS q ON TRUE
    /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
    WHERE
{%- if knows_refused %}
        CASE
            WHEN c.items < (SELECT COUNT(*) FROM decided) THEN {{ m.held_back() }} IS NULL
            ELSE c.items > 0
        END
{%- else %}
        c.items > 0
{%- endif %}
{%- endif %}