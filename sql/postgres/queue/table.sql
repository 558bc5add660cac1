{%- import "part/macros.sql" as m -%}
{%- if own %}
{%- include "part/own_table.sql" %}
{%- else %}
{%- include "part/described_table.sql" %}
{%- endif %}
{%- if not index.name and searches_all %}
/*
The claim seeks here in the order it takes. What is finished or in flight is not in it, so it stays as small as the
backlog.
{%- if due_in_order and not own %} An item without a due time is due: it comes first.{% endif %}
*/
CREATE INDEX IF NOT EXISTS {{ queue }}_due ON {{ table }} (
    {%- for column in due_columns -%}
    {% if column.quoted == role.due and not own %}({{ m.due("") }}){% else %}{{ column.quoted }}{% endif %}
    {{- " DESC" if column.descending }}{{ ", " if not loop.last }}
    {%- endfor -%}
)
WHERE {{ m.waiting("") }};
GO
{%- endif %}
{%- for search in kind_searches %}
/* The claim seeks here what waits of each kind that is asked for, in the order it takes. */
CREATE INDEX IF NOT EXISTS {{ queue }}_{{ search.snake }}_due ON {{ table }} (
    {{- role.kind ~ ", " if search.type }}{{ "(" ~ m.step_sought("") ~ "), " if search.step }}
    {%- for column in due_columns -%}
    {% if column.quoted == role.due and not own %}({{ m.due("") }}){% else %}{{ column.quoted }}{% endif %}
    {{- " DESC" if column.descending }}{{ ", " if not loop.last }}
    {%- endfor -%}
)
WHERE {{ m.waiting("") }};
GO
{%- endfor %}
{%- if not beside or (role.started and not run_time and shows_claims) %}
/* Recovery walks the items in flight, oldest claim first. The lease is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS {{ queue }}_in_flight ON {{ table }} ({{ role.started }})
WHERE {{ m.stands(processing, "") }};
GO
{%- endif %}
{%- if beside and shows_errors %}
/* Retries that wait, of which some may have been left by others than readpast: recovery finds those here. */
CREATE INDEX IF NOT EXISTS {{ queue }}_error ON {{ table }} ({% if role.due %}({{ m.due("") }}){% else %}{{ m.columns("") }}{% endif %})
WHERE {{ m.stands(errors, "") }};
GO
{%- endif %}
{%- if group %}
/* The claim asks here whether an item is the first unfinished one of its group, and whether one of it is in flight. */
CREATE INDEX IF NOT EXISTS {{ queue }}_group ON {{ table }} ({{ group }}{% for column in group_order %}, {{ column }}{% endfor %})
WHERE {{ m.open() }};
GO
{%- if not beside %}
CREATE INDEX IF NOT EXISTS {{ queue }}_held ON {{ table }} ({{ group }})
WHERE {{ m.stands(processing, "") }};
GO
{%- endif %}
/* What its claims lock in turn. */
INSERT INTO {{ object("queue_turn") }} (queue) VALUES ('{{ queue }}') ON CONFLICT DO NOTHING;
GO
{%- endif %}
{%- if dedup and own %}
/* What makes an item unique{{ " among the unfinished ones" if dedup.unfinished_only }}. */
CREATE UNIQUE INDEX IF NOT EXISTS {{ queue }}_work ON {{ table }} ({{ dedup.columns | join(", ") }})
{%- if dedup.unfinished_only %}
WHERE {{ m.open() }}
{%- endif -%}
;
GO
{%- elif dedup %}
/* The same work is looked for here, unless an index of the table serves for that. */
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_index AS i
        WHERE
            i.indrelid = '{{ table | replace("'", "''") }}'::regclass
            AND i.indpred IS NULL
            AND i.indnkeyatts >= {{ dedup.columns | length }}
            AND ARRAY(
                SELECT a.attname::text
                FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey[0:{{ dedup.columns | length - 1 }}])
            ) @> ARRAY[
{%- for column in dedup.columns %}{{ text(column | trim('"') | replace('""', '"')) }}{{ ", " if not loop.last }}{% endfor -%}
            ]
    )
    THEN
        CREATE INDEX {{ queue }}_same ON {{ table }} ({{ dedup.columns | join(", ") }});
    END IF;
END;
$$;
GO
{%- endif %}
{%- if subtypes %}
{% include "part/subtypes.sql" %}
{%- endif %}
