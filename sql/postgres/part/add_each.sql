    FOR item_ IN
        SELECT
            (i.position - 1)::integer AS ordinal, d.due_at,
            {% if role.due %}'Pending'{% else %}CASE WHEN d.due_at > now_ THEN 'Error' ELSE 'Pending' END{% endif %} AS status,
            COALESCE(i.type, {{ text(types[0]) }}) AS kind,
            {% if steps %}COALESCE(i.step, {{ text(steps[0]) }}) AS step{% else %}i.step{% endif %},
            COALESCE(i.columns, '{}') AS columns
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (type text, step text, due {{ m.time_given() }}, delay_ms bigint, columns json)
            ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, position)
        CROSS JOIN LATERAL (
            SELECT COALESCE({{ m.finite(m.time_read("i.due")) }}, now_ + {{ m.interval_ms("i.delay_ms") }}) AS due_at
        ) AS d
        ORDER BY i.position
    LOOP
{%- if dedup %}
        key_ := NULL;
{% include "part/same.sql" %}
        IF key_ IS NULL THEN
{%- endif %}
        INSERT INTO {{ table }} AS q (
{%- for column in inserted %}
            {{ column.quoted }}{{ "," if not loop.last }}
{%- endfor %}
        )
        SELECT
{%- for column in inserted %}
            {% if column.is_given %}{% set value = of.given(column, "item_.columns", "c." ~ column.shown) %}
            {%- if column.is_time %}{% set value = object("queue_time_fn") ~ "(" ~ value ~ ")" %}{% if column.role in ["enqueued", "token", "due"] %}{% set value = m.finite(value) %}{% endif %}{% endif %}
            {%- if column.is_drawn %}COALESCE({{ value }}, gen_random_uuid())
            {%- elif column.role in ["enqueued", "token"] %}COALESCE({{ value }}, now_)
            {%- elif column.role == "due" %}COALESCE(item_.due_at, {{ value }}, now_)
            {%- else %}{{ value }}{% endif %}
            {%- elif column.role == "kind" %}item_.kind
            {%- elif column.role in ["enqueued", "token"] %}now_
            {%- elif column.role == "due" %}COALESCE(item_.due_at, now_)
            {%- elif column.role == "attempts" %}0
            {%- elif column.role == "step" %}{{ "item_.step" if create else "COALESCE(item_.step, " ~ m.where_must(column.quoted, "''") ~ ")" }}
            {%- elif column.pending.holds == "something" %}{{ "'Pending'" if column.is_text else "now_" }}
            {%- else %}{{ column.pending.literal }}{% endif %}{{ "," if not loop.last }}
{%- endfor %}
{%- set listed = inserted | selectattr("is_given") | list %}
{%- if listed %}
        FROM json_to_record(item_.columns) AS c (
{%- for column in listed %}
            {{ column.shown }} {{ "text" if column.is_time else of.read_as(column) }}{{ "," if not loop.last }}
{%- endfor %}
        )
{%- endif %}
{%- if dedup %}
        ON CONFLICT DO NOTHING
{%- endif %}
        RETURNING {% for column in key %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}
        INTO {% for column in key %}new_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %};
{%- if dedup %}
            IF NOT FOUND THEN
                /* Somebody who goes other ways than this one was first. */
{% include "part/same.sql" %}
                IF key_ IS NULL THEN
                    RAISE EXCEPTION '{{ procedure }}: item % repeats a unique value of {{ table_name | replace("'", "''") | replace("%", "%%") }}',
                        item_.ordinal
                    USING ERRCODE = 'RP021';
                END IF;
            ELSE
{%- endif %}
{%- if not role.due and not presence %}
        IF item_.status = 'Error' THEN
            /* The table has no due time: it shows the item as taken until the time comes. */
            UPDATE {{ table }} AS q
            SET
{%- for column in written if column.cases %}
                {{ column.quoted }} = {% set parked = namespace(value="q." ~ column.quoted) %}
                {%- for case in column.cases if "Error" in case.states -%}
                {%- set parked.value = ("COALESCE(q." ~ column.quoted ~ ", " ~ ("item_.status" if column.role in ["owner", "error", "step", "response"] else "now_") ~ ")") if case.holds == "something" else case.literal -%}
                {%- endfor -%}
                {{ parked.value }}{{ "," if not loop.last }}
{%- endfor %}
            WHERE
                {% for column in key %}{{ "AND " if not loop.first }}q.{{ column.quoted }} = new_{{ loop.index }}_ {% endfor -%}
                {% for column in seek %}AND q.{{ column.quoted }} IN ({{ column["values"] | join(", ") }}) {% endfor %};
        END IF;
{%- endif %}
{%- for subtype in subtypes %}
{%- set its = "item_.columns -> " ~ text(subtype.name) %}
        IF {{ "item_.kind = " ~ text(subtype.name) ~ " OR " if subtype.exclusive }}json_typeof({{ its }}) = 'object' THEN
            INSERT INTO {{ subtype.table }} (
                {{ m.columns("") }}{% for column in subtype.columns %}, {{ column.quoted }}{% endfor %}
            )
            SELECT
                {% for column in key %}new_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %}
{%- for column in subtype.columns %},
                {% set value = of.given(column, its, "c." ~ column.called) %}{{ object("queue_time_fn") ~ "(" ~ value ~ ")" if column.is_time else value }}
{%- endfor %}
            FROM json_to_record(CASE json_typeof({{ its }}) WHEN 'object' THEN {{ its }} ELSE '{}' END) AS c (
{%- for column in subtype.columns %}
                {{ column.called }} {{ "text" if column.is_time else of.read_as(column) }}{{ "," if not loop.last }}
{%- endfor %}
            );
        END IF;
{%- endfor %}
{%- if beside %}
        /* A row of an item that once had this key is of no concern any more. */
        DELETE FROM {{ object(queue ~ "_lease") }} AS s
        WHERE {% for column in key %}{{ "AND " if not loop.first }}s.key_{{ loop.index }} = new_{{ loop.index }}_ {% endfor %};
{%- endif %}
{%- if attempt_history and not own and not history_table %}
        /* Nor are its attempts. */
        DELETE FROM {{ object(queue ~ "_attempt") }} AS a
        WHERE {% for column in key %}{{ "AND " if not loop.first }}a.key_{{ loop.index }} = new_{{ loop.index }}_ {% endfor %};
{%- endif %}
{%- if beside %}
{%- if not role.due or not role.step %}
        IF {% if not role.due %}item_.status = 'Error'{% endif %}{{ " OR " if not role.due and not role.step }}{% if not role.step %}item_.step IS NOT NULL{% endif %} THEN
            INSERT INTO {{ object(queue ~ "_lease") }} (
                {{ m.list("key_") }}, status, step, attempt_num, due_at, updated_at
            )
            VALUES (
                {% for column in key %}new_{{ loop.index }}_, {% endfor %}item_.status, item_.step, 0, item_.due_at, now_
            );
        END IF;
{%- endif %}
{%- endif %}
        list_ := list_ || json_build_object(
            'ordinal', item_.ordinal, 'answer', 'OK', 'key', {{ m.key_text("new_", "_") }},
            'token', now_, 'attempt_num', 0, 'status', item_.status
        );
{%- if dedup %}
            END IF;
        END IF;
        IF key_ IS NOT NULL THEN
            list_ := list_ || json_build_object(
                'ordinal', item_.ordinal, 'answer', 'DUPLICATE'{% if dedup.existing %}, 'key', key_{% endif %}, 'attempt_num', 0
            );
        END IF;
{%- endif %}
    END LOOP;
