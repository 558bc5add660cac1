{#- The claim of the items in `found`, of a table beside which another stands, and what it returns. #}
{% include "part/taken.sql" %}
{%- import "macro/write.sql" as write %}
{{- write.changed(claims=true) }}

    SELECT
{%- for column in key %}
        ARRAY_AGG(c.key_{{ loop.index }} ORDER BY c.position) FILTER (WHERE c.status = 'Processing'),
{%- endfor %}
        BOOL_OR(c.alone), COUNT(*), (SELECT COUNT(*) FROM decided)
    INTO {{ m.list("key_", "_") }}, alone_, ended_, decided_
    FROM changed AS c;
    IF apart_ AND ended_ < decided_ THEN
        PERFORM {{ m.held_back() }};
    END IF;

    RETURN QUERY
    SELECT
        CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer, lease_ms_::bigint,
        {{ m.key_text("k.key_") }},
        v.item_token, v.item_attempt, v.item_status,
{{- m.item_of_view() | listed(8) }}
    FROM {{ m.keys_unnested() }}
    INNER JOIN LATERAL (
        {{ m.found("k.key_", "shown") | indent(8) }}
    ) AS v ON TRUE
    ORDER BY k.position;
    IF NOT FOUND THEN
        /* All of them were taken meanwhile, or had spent their attempts, and ended: what comes behind them is due now. */
        answer := 'EMPTY';
        answer_due_ms := 0;
        RETURN NEXT;
    END IF;
