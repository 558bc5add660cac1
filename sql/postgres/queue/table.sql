{%- import "macro/item.sql" as m -%}
{%- import "macro/index.sql" as index_of -%}
{%- import "macro/column.sql" as of -%}
{%- if own %}
{%- include "part/own_table.sql" %}
{%- else %}
{%- include "part/described_table.sql" %}
{%- endif %}
{%- set due = namespace(columns=[]) %}
{%- for c in due_columns %}
{%- set is_due = c.quoted == role.due and not own %}
{%- set due.columns = due.columns + [{"name": c.name, "quoted": c.quoted, "descending": c.descending, "expression": m.due("") if is_due else none}] %}
{%- endfor %}
{%- if not index.name and searches_all %}
{%- set shard = [{"name": "shard", "expression": m.shard(""), "descending": false}] if shards else [] %}
{% call index_of.create(queue ~ "_due", place, shard + due.columns, where=m.waiting("")) %}
/*
The claim seeks here in the order it takes. What is finished or in flight is not in it, so it stays as small as the
backlog.
{%- if shards %} It begins with the shard, so that what waits has {{ shards }} heads, each on pages of its own.{% endif %}
{%- if due_in_order and not own %} An item without a due time is due: it comes first.{% endif %}
*/
{%- endcall %}
{%- endif %}
{%- for search in kind_searches %}
{%- set step = [{"name": indexed.step.name, "expression": m.step_sought(""), "descending": false}] if search.step else [] %}
{%- set sought = ([indexed.kind] if search.type else []) + step + due.columns %}
{% call index_of.create(queue ~ "_" ~ search.snake ~ "_due", place, sought, where=m.waiting("")) %}
/* The claim seeks here what waits of each kind that is asked for, in the order it takes. */
{%- endcall %}
{%- endfor %}
{%- if not beside or (role.started and not run_time and shows_claims) %}
{% call index_of.create(queue ~ "_in_flight", place, [indexed.started], where=m.stands(processing, "")) %}
/* Recovery walks the items in flight, oldest claim first. The lease is in no index: a renewal moves no index row. */
{%- endcall %}
{%- endif %}
{%- if own %}
{% call index_of.create(queue ~ "_ended", place, indexed.key, where="status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')") %}
/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
{%- endcall %}
{%- endif %}
{%- if beside and shows_errors %}
{%- set waits_from = [{"name": indexed.due.name, "expression": m.due(""), "descending": false}] if role.due else indexed.key %}
{% call index_of.create(queue ~ "_error", place, waits_from, where=m.stands(errors, "")) %}
/* Retries that wait, of which some may have been left by others than readpast: recovery finds those here. */
{%- endcall %}
{%- endif %}
{%- if group %}
{% call index_of.create(queue ~ "_group", place, [indexed.group] + indexed.group_order, where=m.open()) %}
/* The claim asks here whether an item is the first unfinished one of its group, and whether one of it is in flight. */
{%- endcall %}
{%- if not beside %}
{% call index_of.create(queue ~ "_held", place, [indexed.group], where=m.stands(processing, "")) %}
{%- endcall %}
{%- endif %}
{%- endif %}
{%- for l in limits if l.by %}
{%- set at = [{"name": l.name, "expression": m.limit_key(l, ""), "descending": false}] %}
{%- if l.nth == sought.nth %}
{% call index_of.create(queue ~ "_limited", place, at + due.columns, where=m.waiting("")) %}
/* The claim seeks here what waits for each key that has room. */
{%- endcall %}
{%- endif %}
{%- if not beside %}
{% call index_of.create(queue ~ "_in_work_" ~ l.nth, place, at, where=m.stands(processing, "")) %}
/* The claim counts here what is in work for a key. */
{%- endcall %}
{%- endif %}
{%- endfor %}
{%- if group or limits %}
{% filter statement %}
/* The row that its claims lock in turn. */
INSERT INTO {{ object("queue_turn") }} (queue) VALUES ('{{ queue }}') ON CONFLICT DO NOTHING;
{% endfilter %}
{%- endif %}
{%- if dedup and not own %}
{% filter statement %}
/* The row that its adds lock in turn. */
INSERT INTO {{ object("queue_turn") }} (queue) VALUES ('{{ queue }} add') ON CONFLICT DO NOTHING;
{% endfilter %}
{%- endif %}
{%- if dedup and own %}
{% call index_of.create(queue ~ "_work", place, indexed.same, where=m.open() if dedup.unfinished_only else "", unique=true) %}
/* The columns that make an item unique{{ " among the unfinished ones" if dedup.unfinished_only }}. */
{%- endcall %}
{%- elif dedup %}
{% filter made("INDEX", queue ~ "_same", on=place, columns=indexed.same, optional=true) %}
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
{% endfilter %}
{%- endif %}
{%- if attempt_history %}
{% include "part/attempt_table.sql" %}
{%- endif %}
{%- if subtypes and (own or create) %}
{% include "part/subtypes.sql" %}
{%- endif %}
{%- if shards %}
{% filter made("SEQUENCE", queue ~ "_shard_turn") %}
/* At which shard the next claim begins. */
CREATE SEQUENCE IF NOT EXISTS {{ object(queue ~ "_shard_turn") }} AS bigint MINVALUE 0 START WITH 0 CACHE 1;
{% endfilter %}
{%- endif %}
{%- if own %}
{% include "part/sequences.sql" %}
{%- endif %}
{% filter statement %}
/* When the items of its dead workers were last looked for. */
INSERT INTO {{ object("queue_recovery") }} (queue, recovered_at) VALUES ('{{ queue }}', '-infinity')
ON CONFLICT DO NOTHING;
{% endfilter %}
