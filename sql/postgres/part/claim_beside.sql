    IF among_1_ IS NOT NULL THEN
{%- for column in key %}
        key_{{ loop.index }}_ := among_{{ loop.index }}_;
{%- endfor %}
    ELSE
{%- if parks_errors %}
{% include "part/unpark.sql" %}
{%- endif %}
{% include "part/lock_beside.sql" %}
    END IF;

    IF key_1_ IS NOT NULL THEN
        WITH found AS MATERIALIZED (
            SELECT {{ m.list("k.key_") }}, v.*
            FROM {{ m.keys_unnested() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", []) }}
            ) AS v ON TRUE
            ORDER BY k.position
        ),

{% include "part/taken.sql" %}
{%- import "part/write.sql" as write %}
{{- write.changed(claims=true) }}

        SELECT
{%- for column in key %}
            ARRAY_AGG(c.key_{{ loop.index }} ORDER BY c.position) FILTER (WHERE c.status = 'Processing'),
{%- endfor %}
            BOOL_OR(c.alone), COUNT(*), (SELECT COUNT(*) FROM decided)
        INTO {{ m.list("key_", "_") }}, alone_, ended_, decided_
        FROM changed AS c;
        IF among_1_ IS NOT NULL AND ended_ < decided_ THEN
            RAISE EXCEPTION 'a trigger of the table leaves the row as it is';
        END IF;

        RETURN QUERY
        SELECT
            CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer, lease_ms_::bigint,
            {{ m.key_text("k.key_") }},
            v.item_token, v.item_attempt, v.item_status,
{{- m.item_of_view() | listed(12) }}
        FROM {{ m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", "shown") }}
        ) AS v ON TRUE
        ORDER BY k.position;
        IF FOUND THEN RETURN;
        END IF;
        IF ended_ > 0 THEN
            /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
            answer := 'EMPTY';
            answer_due_ms := 0;
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
