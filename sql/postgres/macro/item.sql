{#-
Expressions on a table that stand in more than one place. A table with a column for everything is read and written alone; beside
another stands <queue>_lease (beside), and {{ queue }}_item_v says what the two tell together. The aliases: q is the
table, s the lease, v an item as a statement has found it, with columns item_status, item_token and so on; k, i, d have
the key as key_1, key_2 ...
-#}
{%- macro list(before, after="") %}{% for column in key %}{{ before }}{{ loop.index }}{{ after }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro columns(alias="q.") %}{% for column in key %}{{ alias }}{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro arrays() %}{% for column in key %}ARRAY_AGG(q.{{ column.quoted }}){{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro seeks(from, to) %}{% for column in seek %}{{ from }}{{ loop.index }} AS {{ to }}{{ loop.index }}, {% endfor %}{% endmacro -%}
{#- One search per key, whatever the size of the table when this is planned: BETWEEN, see part/attributes. -#}
{%- macro at_key(of) %}
{%- for column in key %}{{ " AND " if not loop.first }}q.{{ column.quoted }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
{%- for column in seek %} AND q.{{ column.quoted }} IN ({{ column["values"] | join(", ") }}){% endfor -%}
{{- and_its() -}}
{% endmacro -%}
{#- Rows of the queue, of a table that others share with it. -#}
{%- macro and_its(alias="q.") %}{% for c in rows %} AND {{ alias }}{{ c.quoted }} {{ c.is }}{% endfor %}{% endmacro -%}
{%- macro is_its(alias="q.") %}{% for c in rows %}{{ alias }}{{ c.quoted }} {{ c.is }}{{ " AND " if not loop.last }}{% else %}TRUE{% endfor %}{% endmacro -%}
{#- As at_key, of what was read: where its value of the columns that lead the index is known. -#}
{%- macro at_found(of) %}
{%- for column in key %}{{ " AND " if not loop.first }}q.{{ column.quoted }} BETWEEN {{ of }}.key_{{ loop.index }} AND {{ of }}.key_{{ loop.index }}{% endfor -%}
{%- for column in seek %} AND q.{{ column.quoted }} = ANY(ARRAY[{{ of }}.seek_{{ loop.index }}]){% endfor -%}
{{- and_its() -}}
{% endmacro -%}
{%- macro lease_at_key(of) %}
{%- for column in key %}{{ " AND " if not loop.first }}s.key_{{ loop.index }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
{% endmacro -%}
{#- The attempts of an item, in the table that remembers them. -#}
{%- macro attempt_at_key(of) %}
{%- for column in key %}{{ " AND " if not loop.first }}a.key_{{ loop.index }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
{% endmacro -%}
{#- The report of an item, in the table that has them of another table's items. -#}
{%- macro progress_at_key(of) %}
{%- for column in key %}{{ " AND " if not loop.first }}p.key_{{ loop.index }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
{% endmacro -%}
{%- macro keys_unnested() -%}
UNNEST({{ list("key_", "_") }}) WITH ORDINALITY AS k ({{ list("key_") }}, position)
{%- endmacro -%}
{#- As keys_unnested, of those that part/narrow tries. -#}
{%- macro keys_tried() -%}
UNNEST({% for column in key %}key_{{ loop.index }}_[from_:to_]{{ ", " if not loop.last }}{% endfor %}) WITH ORDINALITY AS k ({{ list("key_") }}, position)
{%- endmacro -%}
{#- A key as queue_refused has it. -#}
{%- macro key_kept(of, after="") %}{% if own %}{{ shown_time(of ~ "1" ~ after) }}{% else %}{{ key_text(of, after) }}{% endif %}{% endmacro -%}
{%- macro key_kept_of_row() %}{% if own %}{{ shown_time("q." ~ key[0].quoted) }}{% else %}{{ key_text_of_row() }}{% endif %}{% endmacro -%}
{#- The answers of a query that has no items, row by row into what this function returns. -#}
{%- macro answers_of() %}FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN{% endmacro -%}
{%- macro pass_on() %}LOOP
        RETURN NEXT;
    END LOOP;{% endmacro -%}
{#- The answers of a call on items of ours that was made before, as it gave them. What is completed may have left the table (`leaves`). -#}
{%- macro kept_answers(leaves=false) %}
{%- if not leaves -%}
SELECT
    COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint, i.key, q.updated_at, q.attempt_num,
    q.status::text
FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
{%- else -%}
SELECT
    COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint, i.key,
    CASE WHEN g.gone THEN GREATEST(p.at, i.token + interval '1 microsecond') ELSE q.updated_at END,
    CASE WHEN g.gone THEN COALESCE(i.attempt, 0) ELSE q.attempt_num END,
    CASE WHEN g.gone THEN 'Completed' ELSE q.status END
FROM
    ROWS FROM (
        json_to_recordset(items_) AS (key timestamptz, token timestamptz, attempt integer, status text)
    ) WITH ORDINALITY AS i (key, token, attempt, status, position)
{%- endif %}
CROSS JOIN {{ object("queue_operation") }} AS p
LEFT JOIN {{ table }} AS q
    ON q.enqueued_at = i.key
{%- if leaves %}
CROSS JOIN LATERAL (
    SELECT q.enqueued_at IS NULL AND i.status = 'Completed' AND p.result ->> (i.position - 1)::text IS NULL AS gone
) AS g
{%- endif %}
WHERE p.operation_id = operation_
ORDER BY i.position
{%- endmacro -%}
{#- Not what the table has refused a moment ago. -#}
{%- macro not_refused(key) -%}
NOT EXISTS (
                SELECT 1
                FROM {{ object("queue_refused") }} AS x
                WHERE
                    x.queue = '{{ queue }}'
                    AND x.key = {{ key }}
                    AND x.until > now_
            )
{%- endmacro -%}
{#- Whether claims go around some items, refused or paused ones. -#}
{%- macro goes_around() -%}
EXISTS (SELECT 1 FROM {{ object("queue_refused") }} AS x WHERE x.queue = '{{ queue }}')
{%- endmacro -%}
{#- The due time of an item that waits for others. -#}
{%- macro never() %}timestamptz '9999-12-31 00:00:00+00'{% endmacro -%}
{#- No item waits for it. -#}
{%- macro not_waited_for() -%}
NOT EXISTS (SELECT 1 FROM {{ object(queue ~ "_after") }} AS w WHERE w.parent = q.enqueued_at AND w.outcome IS NULL)
{%- endmacro -%}
{#- Not of a type that is paused. -#}
{%- macro not_paused() %}(q.{{ role.kind }}::text = ANY(paused_)) IS NOT TRUE{% endmacro -%}
{#- A claim that was to change a row which did not change ends: the row is one that its table refuses. -#}
{%- macro held_back() -%}
{{ object("queue_refuse_fn") }}('a trigger of the table leaves the row as it is', 'P0001')
{%- endmacro -%}
{#- The type of a key in answers, and in what is asked; how it is read and shown. -#}
{%- macro key_type() %}{{ "timestamptz" if own else "text" }}{% endmacro -%}
{%- macro key_given() %}{% if own %}timestamptz{% elif composite %}json{% elif key[0].is_time or key[0].is_binary %}text{% else %}{{ key_types[0] }}{% endif %}{% endmacro -%}
{%- macro key_read(from) %}
{%- for column in key %}
{%- set value = "(" ~ from ~ " ->> " ~ loop.index0 ~ ")" if composite else from %}
            {% if own %}{{ from }}{% elif column.is_time %}{{ object("queue_time_fn") }}({{ value }}){% elif column.is_binary %}decode({{ value }}, 'hex'){% elif composite %}{{ value }}::{{ key_types[loop.index0] }}{% else %}{{ value }}{% endif %} AS key_{{ loop.index }}{{ "," if not loop.last }}
{%- endfor -%}
{% endmacro -%}
{%- macro shown_time(value) %}{{ object("queue_key_fn") }}({{ value }}{{ "::timestamptz" if not own }}){% endmacro -%}
{#- A value of a column of the key as text. -#}
{%- macro shown_value(column, value) %}
{%- if column.is_time %}{{ shown_time(value) }}{% elif column.is_binary %}encode({{ value }}, 'hex'){% else %}{{ value }}::text{% endif %}
{%- endmacro -%}
{%- macro key_text(of, after="") %}
{%- if own %}{{ of }}1{{ after }}
{%- elif composite -%}
'[' || {% for column in key %}to_json({{ shown_value(column, of ~ loop.index ~ after) }})::text
            || {{ "']'" if loop.last else "',' || " }}{% endfor -%}
{%- else %}{{ shown_value(key[0], of ~ "1" ~ after) }}
{%- endif -%}
{% endmacro -%}
{#- A time in a request: its text says UTC, and is read so even where the function goes on in the server's time zone. -#}
{%- macro time_given() %}{{ "text" if local_time else "timestamptz" }}{% endmacro -%}
{%- macro time_read(value) %}{% if local_time %}{{ object("queue_time_fn") }}({{ value }}){% else %}{{ value }}{% endif %}{% endmacro -%}
{#- Instead of no value, where the column of somebody's table may not be NULL. -#}
{%- macro where_must(column, value) -%}
CASE WHEN {{ object("queue_must") }}('{{ table | replace("'", "''") }}', {{ text(column | trim('"') | replace('""', '"')) }}) THEN {{ value }} END
{%- endmacro -%}
{#- Text of a column of somebody else's, which may keep JSON. -#}
{%- macro text_of(value) %}{{ value ~ "::text" if create else object("queue_text_fn") ~ "(" ~ value ~ ")" }}{% endmacro -%}
{#- A time of the table, whose column may be without a time zone. -#}
{%- macro time(value) %}{% if own %}{{ value }}{% elif local_time %}({{ value }})::timestamptz{% else %}{{ object("queue_utc_fn") }}({{ value }})::timestamptz{% endif %}{% endmacro -%}
{%- macro interval_ms(value) %}{{ value }} * interval '1 millisecond'{% endmacro -%}
{%- macro ms(since, until) %}{{ object("queue_ms_fn") }}({{ since }}, {{ until }}){% endmacro -%}
{#- Whether this install finds its schema sharded by Citus: part/citus.sql. -#}
{%- macro is_sharded() %}current_setting('readpast.is_sharded', TRUE) = 'on'{% endmacro -%}
{#- A time that comes from outside, for a column that decides when an item is due or was changed. -#}
{%- macro finite(value) %}{{ object("queue_finite_fn") }}({{ value }}){% endmacro -%}
{%- macro later(token) %}GREATEST(now_, NULLIF({{ token }}, 'infinity') + interval '1 microsecond'){% endmacro -%}
{%- macro names(states, width=5) %}{% for state in states %}{{ text(state) }}{{ (",\n                        " if loop.index % width == 0 else ", ") if not loop.last }}{% endfor %}{% endmacro -%}
{%- macro stands(conditions, alias="q.") %}
{%- for condition in conditions %}{{ " AND " if not loop.first }}{{ alias }}{{ condition.quoted }} {{ condition.is }}
{%- else %}{{ "TRUE" if alias }}{# An index without a condition. #}
{%- endfor %}
{%- endmacro -%}
{#-
Items that a claim takes. Beside a table the items that wait for another attempt are made pending when they are due. Where rows show no
state, the row beside says what is taken, or has ended: sought for each row by its key, whatever the plan.
-#}
{%- macro waiting(alias="q.") %}
{%- if beside %}{{ stands(pending, alias) }}
{%- elif waits.literals | length == 1 %}{{ alias }}{{ waits.quoted }} = {{ waits.literals[0] }}{{ and_its(alias) }}
{%- else %}{{ alias }}{{ waits.quoted }} IN ({{ waits.literals | join(", ") }}){{ and_its(alias) }}{% endif %}
{%- if presence and alias %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue ~ "_lease") }} AS t
                WHERE {% for column in key %}t.key_{{ loop.index }} BETWEEN {{ alias }}{{ column.quoted }} AND {{ alias }}{{ column.quoted }} AND {% endfor %}t.status NOT IN ({{ names(claimable) }})
                OFFSET 0
            )
{%- endif %}
{%- endmacro -%}

{#- The due time as the index has it: without one an item is due. -#}
{%- macro due(alias="q.") %}{% if own %}{{ alias }}{{ role.due }}{% else %}COALESCE({{ alias }}{{ role.due }}, '-infinity'){% endif %}{% endmacro -%}
{%- macro is_due() %}{% if own or due_in_order %}{{ due() }} <= now_{% else %}(q.{{ role.due }} IS NULL OR q.{{ role.due }} <= now_){% endif %}{% endmacro -%}
{#- The condition of a kind that is asked for: by what the index of `search` begins with. An item without a step has the empty one. -#}
{%- macro is_kind(search, of) %}
{%- if search.type %}q.{{ role.kind }} = {{ of }}.type{{ "\n                    AND " if search.step }}{% endif %}
{%- if search.step %}{{ step_sought() }} = {{ of }}.step{% endif %}
{%- endmacro -%}
{%- macro step_sought(alias="q.") %}COALESCE({{ alias }}{{ role.step }}, ''){% endmacro -%}
{#-
In which of its shards an item of an own table is. Items are numbered as they come, and their keys have the number in the
microseconds: so they are dealt out in turn.
-#}
{%- macro shard(alias="q.") %}EXTRACT(MICROSECONDS FROM {{ alias }}{{ key[0].quoted }} AT TIME ZONE 'UTC')::integer % 10000 % {{ shards }}{% endmacro -%}
{#- The key of a limit that an item counts for, as text: '' where it has none. -#}
{%- macro limit_key(limit, alias="q.") %}(COALESCE({{ alias }}{{ limit.quoted }}::text, '') COLLATE "C"){% endmacro -%}
{#- Items in work: rows of the table, or of the one beside it, which keeps the key with which an item began. -#}
{%- macro in_work() %}{{ (object(queue ~ "_lease") if beside else table) ~ " AS q" }}{% endmacro -%}
{%- macro is_in_work() %}{{ "q.status = 'Processing'" if beside else stands(processing) }}{% endmacro -%}
{%- macro in_work_key(limit) %}{{ "q.limit_" ~ limit.nth if beside else limit_key(limit) }}{% endmacro -%}
{#- As how many an item counts for a limit with weights, which is `most`. -#}
{%- macro weighs(weight, most) %}LEAST(GREATEST(COALESCE({{ weight }}, 1), 1), {{ most }}){% endmacro -%}
{#- All shards, a row each. -#}
{%- macro all_shards() %}generate_series(0, {{ shards - 1 }}) AS g (shard){% endmacro -%}
{#- The order of due items, as the indexes for kinds have it, of a row of the table or of what was read of it. -#}
{%- macro by_due(alias="q.") %}
{%- for column in due_columns %}
{%- if column.quoted == role.due %}{{ due(alias) }}{% else %}{{ alias }}{{ column.quoted }}{% endif %}{{ " DESC" if column.descending }}{{ ", " if not loop.last }}
{%- endfor %}
{%- endmacro -%}
{%- macro by_place(of) %}
{%- for column in due_columns %}{{ of }}{{ loop.index }}{{ " DESC" if column.descending }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro -%}
{#- The arrays of the kinds that are asked for. -#}
{%- macro kinds_unnested() -%}
UNNEST({{ "kind_types_" if asks_types }}{{ ", " if asks_types and asks_steps }}{{ "kind_steps_" if asks_steps }})
{%- endmacro -%}
{%- macro kind_columns() %}{{ "type" if asks_types }}{{ ", " if asks_types and asks_steps }}{{ "step" if asks_steps }}{% endmacro -%}
{#- Whether a claim goes by this search, of those that there are. -#}
{%- macro kinds_given(search) %}{{ "steps_" if search.step else "types_" }} IS NOT NULL{% endmacro -%}
{#- Without attempts all that waits would be Failed at once: a value below 1 does not count. -#}
{%- macro setting_or(name, otherwise) %}COALESCE({{ setting_read(name) }}, {{ otherwise }}){% endmacro -%}
{%- macro setting_read(name) -%}
(
        SELECT {{ "MAX(" if settings_of.theirs }}a.{{ settings_of.value }}{{ ")" if settings_of.theirs }} FROM {{ settings_of.table }} AS a WHERE a.{{ settings_of.param }} = {{ text(setting ~ "." ~ name) }} AND a.{{ settings_of.value }} > 0
    )
{%- endmacro -%}
{#- The state that the columns of the table tell, and the row beside it where they tell several alike. -#}
{%- macro status() %}
{%- if state_column and not beside %}q.{{ state_column }}::text
{%- else %}CASE
{%- for encoding in encodings %}
            WHEN {{ stands(encoding.conditions) }}
{%- if encoding.states | length > 1 %}
                THEN CASE
                    WHEN
                        s.status IN (
                            {{ names(encoding.states) }}
                        )
                        THEN s.status::text
                    ELSE {{ text(encoding.default) }}
                END
{%- else %}
                THEN {{ text(encoding.default) }}
{%- endif %}
{%- endfor %}
            ELSE 'Processing'
        END
{%- endif %}
{%- endmacro -%}
{#- An item: from the table where it has a column, and else from the row beside it. -#}
{%- macro of(what) %}
{%- set state = "c.status" if beside else status() -%}
{%- if what == "type" %}{% if role.kind %}q.{{ role.kind }}::text{% else %}{{ text(types[0]) }}::text{% endif %}
{%- elif what == "status" %}{{ state }}
{%- elif what == "enqueued_at" %}{% if role.enqueued %}{{ time("q." ~ role.enqueued) }}{% else %}NULL::timestamptz{% endif %}
{%- elif what == "step" %}{% if role.step %}q.{{ role.step }}{{ "::text" if not own }}{% else %}s.step{% endif %}
{%- elif what == "response" %}{% if not role.response %}s.response{% elif own %}q.{{ role.response }}{% else %}{{ text_of("q." ~ role.response) }}{% endif %}
{%- elif what == "error" %}
    {%- if own %}q.{{ role.error }}
    {%- elif role.error %}{{ "COALESCE(" if beside }}NULLIF({{ text_of("q." ~ role.error) }}, ''){{ ", s.error)" if beside }}
    {%- else %}s.error{% endif %}
{%- elif what == "attempt" %}
    {%- if own %}q.{{ role.attempts }}
    {%- elif role.attempts %}COALESCE(q.{{ role.attempts }}, 0)::integer
    {%- else %}
    /* An operator who makes a finished item pending by hand gives it all its attempts. */
    CASE
        WHEN {{ state }} = 'Pending' AND {{ object("queue_is_finished_fn") }}(s.status) THEN 0
        ELSE COALESCE(s.attempt_num, 0)
    END
    {%- endif %}
{%- elif what == "started_at" %}{% if role.started and not run_time %}{{ time("q." ~ role.started) }}{% else %}s.started_at{% endif %}
{%- elif what == "finished_at" %}
    {%- if role.finished %}CASE WHEN {{ object("queue_is_finished_fn") }}({{ state }}) THEN {{ time("q." ~ role.finished) }} END
    {%- elif beside %}s.finished_at
    {%- else %}NULL::timestamptz{% endif %}
{%- elif what == "duration" %}
    {%- if role.duration %}q.{{ role.duration }}{{ "::bigint" if not own }}
    {%- elif role.started and role.finished and not run_time %}
    CASE
        WHEN {{ object("queue_is_finished_fn") }}({{ state }})
            THEN {{ ms(time("q." ~ role.started), time("q." ~ role.finished)) }}
    END
    {%- else %}s.duration{% endif %}
{%- elif what == "due_at" %}{% if role.due %}{{ time("q." ~ role.due) }}{% else %}s.due_at{% endif %}
{%- elif what == "token" %}{% if role.token %}{{ time("q." ~ role.token) }}{% else %}s.updated_at{% endif %}
{%- elif what == "owner" %}{% if role.owner %}q.{{ role.owner }}{{ "::text" if not own }}{% else %}s.lease_owner{% endif %}
{%- elif what == "lease_until" %}
    {%- if own %}q.{{ role.lease_until }}
    {%- else %}
    CASE
        WHEN {{ state }} = 'Processing'
            THEN COALESCE(
{%- if role.lease_until %}
                {{ time("q." ~ role.lease_until) }},
{%- else %}
                CASE WHEN s.status = 'Processing'{% if role.owner %} AND s.lease_owner = q.{{ role.owner }}::text{% endif %} THEN s.lease_until END,
{%- endif %}
{%- if role.started and not run_time %}
                /* Taken by somebody else: for as long as one of ours may hold it. */
                {{ time("q." ~ role.started) }} + interval '1 millisecond' * {{ setting_or("leaseMs", lease_ms) }}
{%- else %}
                NULL
{%- endif %}
            )
{%- if not beside %}
        ELSE {{ time("q." ~ role.lease_until) }}
{%- endif %}
    END
    {%- endif %}
{%- elif what == "died_at" %}
    {#- A lease that is over, on an item that waits: it came back from a dead worker. -#}
    {%- if beside %}CASE
        WHEN {{ state }} IN ('Pending', 'Error') AND s.status IN ('Pending', 'Error') THEN s.lease_until
    END
    {%- else %}CASE WHEN {{ waiting() }} THEN {{ time("q." ~ role.lease_until) }} END{% endif %}
{%- elif what == "has_lease" %}{{ "s.key_1 IS NOT NULL" if beside else "TRUE" }}
{%- endif %}
{%- endmacro -%}
{#- Whether the caller may see a type. What it may not see is not there for it. -#}
{%- macro type_seen(type) -%}
EXISTS (
        SELECT 1 FROM {{ object("queue_own_type_v") }} AS a
        WHERE a.queue = '{{ queue }}' AND a.type IN ({{ type }}, '*')
    )
{%- endmacro -%}
{#-
An item by its key, locked, with the columns that are asked for as item_status and so on. Where another table stands beside, the
statement before has locked the rows, and the view joins both.
-#}
{%- macro found(at, asked, mine=false, lock="FOR NO KEY UPDATE", waits=false) -%}
{%- if beside -%}
SELECT{% if asked == "shown" %} w.*{% else %}
{%- for column in seek %}
    w.item_seek_{{ loop.index }},
{%- endfor %}
{%- for what in everything %}
    w.item_{{ what }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
FROM {{ object(queue ~ "_item_v") }} AS w
WHERE
{%- for column in key %}
    {{ "AND " if not loop.first }}w.item_key_{{ loop.index }} = {{ at }}{{ loop.index }}
{%- endfor %}
{%- for column in seek %}
    AND w.item_seek_{{ loop.index }} IN ({{ column["values"] | join(", ") }})
{%- endfor %}
{%- if waits %}
    AND w.item_status IN ({{ names(["Pending"] if parks_errors else ["Pending", "Error"]) }})
{%- endif %}
{%- if mine and own_types_only %}
    AND {{ type_seen("w.item_type") }}
{%- endif %}
/* So that it is one search per key, whatever the size of the table when this is planned. */
OFFSET 0
{%- else -%}
SELECT
{%- for column in seek %}
    q.{{ column.quoted }} AS item_seek_{{ loop.index }},
{%- endfor %}
{%- for what in (asked if own else everything) %}
    {{ of(what) }} AS item_{{ what }}{{ "," if not loop.last }}
{%- endfor %}
FROM {{ table }} AS q
WHERE
{%- for column in key %}
    {{ "AND " if not loop.first }}q.{{ column.quoted }} = {{ at }}{{ loop.index }}
{%- endfor %}
{%- for column in seek %}
    AND q.{{ column.quoted }} IN ({{ column["values"] | join(", ") }})
{%- endfor %}
{%- if waits %}
    AND {{ waiting() }}
{%- else %}
    {{- and_its() }}
{%- endif %}
{%- if mine and own_types_only %}
    AND {{ type_seen("q." ~ role.kind) }}
{%- endif %}
{{- "\n" ~ lock if lock }}
{%- endif -%}
{%- endmacro -%}
{%- set everything = [
    "type", "status", "step", "attempt", "response", "error", "started_at", "duration", "due_at", "token", "owner",
    "lease_until", "died_at", "has_lease"
] -%}
{#- Whether a worker's call still holds the item that was found: the lease is its, and the attempt. -#}
{%- macro holds(attempt) -%}
(v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = {{ attempt }})
{%- endmacro -%}
{#- The columns of an answer, of an item in it, and of a row without one. -#}
{%- macro answer_columns() -%}
answer text, answer_ordinal integer, answer_due_ms bigint, answer_key {{ key_type() }}, answer_token timestamptz, answer_attempt integer, answer_status text
{%- endmacro -%}
{%- macro item_columns() %}{{ answer_columns() }}{% for column in shown %}, {{ column.name }} {{ column.type }}{% endfor %}{% endmacro -%}
{%- macro no_item() %}{% for column in shown %}NULL::{{ column.type }}{{ ", " if not loop.last }}{% endfor %}{% endmacro -%}
{#- An item as it is shown: from a row of the table (q), or of the view of both tables (v). -#}
{%- macro item_of_row(for_workers=true) %}
{%- for column in shown %}
    {%- if column.secret and not for_workers %}NULL::{{ column.type }}{% elif column.alias %}{{ column.alias }}.{{ column.quoted }}{{ "::" ~ column.type if column.cast }}{% elif column.what %}{{ of(column.what) }}{% else %}q.{{ column.quoted }}{{ "::" ~ column.type if column.cast }}{% endif %}{{ ", " if not loop.last }}
{%- endfor %}
{%- endmacro -%}
{%- macro item_of_view(cast=true, for_workers=true) %}
{%- for column in shown %}
    {%- if column.secret and not for_workers %}NULL::{{ column.type }}{% else %}v.{{ "item_" ~ column.what if column.what else column.name }}{{ "::" ~ column.type if column.cast and cast }}{% endif %}{{ ", " if not loop.last }}
{%- endfor %}
{%- endmacro -%}
{#- Columns that the subtypes have of an item, beside its row (q); the view of both tables has it. -#}
{%- macro subtypes_joined() %}
{%- for subtype in subtypes if not beside %}
    LEFT JOIN {{ subtype.table }} AS {{ subtype.alias }}
        ON {% for column in key %}{{ "AND " if not loop.first }}{{ subtype.alias }}.{{ column.quoted }} BETWEEN q.{{ column.quoted }} AND q.{{ column.quoted }}{{ " " if not loop.last }}{% endfor %}
{%- endfor %}
{%- endmacro -%}
{#- The row that a subtype has of an item. -#}
{%- macro subtype_at_key(of) %}
{%- for column in key %}{{ " AND " if not loop.first }}u.{{ column.quoted }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
{% endmacro -%}
{#- The items that are not finished, for the order within groups. -#}
{%- macro open(alias="") -%}
{%- if state_column and not beside -%}
{{ alias }}{{ state_column }} IN ('Pending', 'Processing', 'Error', 'Paused')
{%- elif presence -%}
{{ stands(pending, alias) }}
{%- elif beside -%}
(({{ stands(pending, alias) }}) OR ({{ stands(processing, alias) }}))
{%- else -%}
(
{%- for encoding in encodings if encoding.default in ["Pending", "Processing", "Error", "Paused"] %}
    {{ "OR " if not loop.first }}({{ stands(encoding.conditions, alias) }})
{%- endfor %}
){{ and_its(alias) }}
{%- endif -%}
{%- endmacro -%}
{%- macro answers_again() -%}
json_to_recordset(COALESCE(answers_, '[]')) AS a (
        ordinal integer, answer text, key text, token timestamptz, attempt_num integer, status text
    )
{%- endmacro -%}
{%- macro turn(procedure, name) %}
    PERFORM {{ object("queue_take_turn") }}('{{ procedure }}', '{{ name }}');
{%- endmacro -%}
{#- Beside a described table: no index there refuses the same work. -#}
{%- macro one_adds(procedure) %}
    /* One call at a time looks whether the same work is there, and adds what is not, or takes it up again. */
{{- turn(procedure, queue ~ " add") }}
{%- endmacro -%}
{#- A key that comes as text, alone: as a request would have it. -#}
{%- macro key_from_text(value) %}{{ value }}{{ "::" ~ key_given() }}{% endmacro -%}
{%- macro key_text_of_row() %}
{%- if own %}{{ columns() }}
{%- elif composite -%}
'[' || {% for column in key %}to_json({{ shown_value(column, "q." ~ column.quoted) }})::text || {{ "']'" if loop.last else "',' || " }}{% endfor -%}
{%- else %}{{ shown_value(key[0], "q." ~ key[0].quoted) }}
{%- endif -%}
{% endmacro -%}
{#- Arrivals of the last hour; a clock that is a little fast hides none, and a plan for later has not come. -#}
{%- macro lately(at) -%}{{ at }} > now_ - interval '1 hour' AND {{ at }} <= now_ + interval '1 minute'{%- endmacro -%}
