{#- The due items, locked, in their order, as `found`: all columns of a table without a row beside. -#}
{%- set due_is = m.due() ~ " <= now_" %}
{%- set turns = search or shards or sought %}
    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH{% if search %}
{% include "part/kinds.sql" %}
   {%- elif shards %}
{% include "part/shards.sql" %}
   {%- elif sought %}
{% include "part/limit_turns.sql" %}
   {%- endif %} {{ "sought" if tried else "found" }} AS MATERIALIZED (
{%- if turns %}
        SELECT f.*
        FROM (
            SELECT f.*
            FROM turns AS w
            CROSS JOIN LATERAL (
{%- endif %}
        SELECT
{%- if shards %}
            w.turn AS item_turn,
{%- endif %}
{%- for column in key %}
            q.{{ column.quoted }} AS key_{{ loop.index }},
{%- endfor %}
{%- for column in seek %}
            q.{{ column.quoted }} AS item_seek_{{ loop.index }},
{%- endfor %}
{%- for l in tried %}
            {{ m.limit_key(l) }} AS limit_key_{{ l.nth }},{{ " q." ~ l.weight.quoted ~ " AS weight_" ~ l.nth ~ "," if l.weight }}
{%- endfor %}
{%- for column in due_columns if turns %}
            {% if column.quoted == role.due %}{{ m.due() }}{% else %}q.{{ column.quoted }}{% endif %} AS item_by_{{ loop.index }},
{%- endfor %}
{%- for what in (["token", "attempt", "died_at"] if own else m.everything) %}
            {{ m.of(what) if not (own and what == "died_at") else "q." ~ role.lease_until }} AS item_{{ what }}{{ "," if not loop.last }}
{%- endfor %}
        FROM {{ table }} AS q
        WHERE
{%- if turns %}
{%- filter replace("\n        ", "\n") %}{% include "part/kind_where.sql" %}{% endfilter %}
        LIMIT {{ "w.most OFFSET w.past" if search or sought else "max_" }}
        FOR NO KEY UPDATE OF q SKIP LOCKED
            ) AS f
            LIMIT max_
        ) AS f
        ORDER BY {{ "f.item_turn, " if shards }}{{ m.by_place("f.item_by_") }}
    )
{%- if tried %},
    found AS MATERIALIZED (
{%- include "part/limit_filtered.sql" %}
    )
{%- endif %}
{%- else %}
            {{ m.waiting() }}
{%- if own_types_only and not own %}
            AND {{ m.type_seen("q." ~ role.kind ~ "::text") }}
{%- endif %}
            AND {{ due_is }}
{%- if not apart and begins_at_head %}
            AND {{ m.due() }} >= head_
{%- endif %}
{%- if apart %}
            AND {{ m.not_refused(m.key_kept_of_row()) }}
{%- if role.kind %}
            AND {{ m.not_paused() }}
{%- endif %}
{%- endif %}
{%- if group %}
{% include "part/group_free.sql" %}
{%- endif %}
{%- include "part/order.sql" %}
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    )
{%- endif %}
