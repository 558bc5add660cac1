{#-
The writer: what was decided goes into the table, as far as it has columns, and all of it into the row beside, where one
is. Its parameters:
`sets`: what it changes of an item of ours besides its state; of a table that was there before all is written, since a state
may stand in any of its columns. `clears`: the columns of ours that it makes NULL.
`leaves`: what is completed goes elsewhere, and is not written.
`values`: what a settlement sets goes into its columns as well.
`taken`: the statement has chosen the rows itself, so that there is no answer to ask for. `claims`: it is a claim. `returns_row`, `gives`: what the next
expression sees of a row and of what was decided.
-#}
{%- import "macro/item.sql" as m -%}
{%- import "macro/set_value.sql" as value -%}
{%- macro changed(sets=[], clears=[], leaves=false, values=false, taken=false, claims=false, returns_row=false, gives=[]) %}
{%- if not written and not (values and settable) %}
    /* The table has no column that changes; its row is locked. */
    changed AS (
        SELECT d.*
        FROM decided AS d
        WHERE d.answer = 'OK'{{ " AND d.status <> 'Completed'" if leaves }}
    )
{%- else %}
    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE {{ table }} AS q
        SET
{%- if own %}
            {{ state_column }} = d.status,
            {{ role.token }} = d.token{{ ",\n            claim_num = d.claim_num" if claims }}
{%- for column in written if column.role in sets %},
            {{ column.quoted }} = {% if column.role == "attempts" %}d.attempt_num
            {%- elif column.role in ["step", "response", "error"] %}COALESCE(d.{{ column.role }}, q.{{ column.quoted }})
            {%- elif column.role == "due" %}COALESCE(d.due_at, q.{{ column.quoted }})
            {%- elif column.role == "started" %}CASE WHEN d.enters THEN now_ ELSE q.{{ column.quoted }} END
            {%- elif column.role == "owner" %}CASE WHEN d.enters THEN worker_ ELSE q.{{ column.quoted }} END
            {%- elif column.role == "duration" %}CASE WHEN d.finishes THEN {{ m.ms("q." ~ role.started, "now_") }} ELSE q.{{ column.quoted }} END
            {%- else %}d.{{ column.role }}{% endif %}
{%- endfor %}
{%- for column in written if column.role in clears %},
            {{ column.quoted }} = NULL
{%- endfor %}
{%- else %}
{%- for column in written %}
{%- set keeps = not create and (column.whole or column.role in ["response", "error"]) %}
            {{ column.quoted }} = {{ object("queue_kept_fn") ~ "(q." ~ column.quoted ~ ", " if keeps }}
            {%- if column.whole %}d.status{% else %}{% if column.cases %}CASE
{%- for case in column.cases %}
                WHEN
                    d.status IN (
                        {{ m.names(case.states) }}
                    )
                    THEN {% if case.holds == "something" -%}
                {%- if column.role == "error" -%}
                    COALESCE(NULLIF({% include "part/error_cut.sql" %}, ''), {{ m.text_of("q." ~ column.quoted) }}, d.status)
                {%- elif column.role == "owner" -%}
                    COALESCE(CASE WHEN d.enters THEN d.owner END, q.{{ column.quoted }}, d.owner, '')
                {%- elif column.role == "started" -%}
                    COALESCE(CASE WHEN d.enters THEN d.run_started_at END, q.{{ column.quoted }}, d.run_started_at, now_)
                {%- elif column.role == "finished" -%}
                    CASE WHEN d.finishes THEN now_ ELSE COALESCE(q.{{ column.quoted }}, now_) END
                {%- elif column.role in ["due", "lease_until", "token"] -%}
                    COALESCE(d.{{ "token" if column.role == "token" else ("due_at" if column.role == "due" else "lease_until") }}, q.{{ column.quoted }}, now_)
                {%- elif column.role in ["attempts", "duration"] -%}
                    COALESCE(d.{{ "attempt_num" if column.role == "attempts" else "duration" }}, 0)
                {%- else -%}
                    COALESCE(d.{{ column.role }}, q.{{ column.quoted }}, d.status)
                {%- endif -%}
                {%- else -%}
                    {{ case.literal }}
                {%- endif -%}
{%- endfor %}
                ELSE {% endif -%}
                {%- if not column.role -%}
                    q.{{ column.quoted }}
                {%- elif column.role == "due" -%}
                    COALESCE(d.due_at, q.{{ column.quoted }})
                {%- elif column.role == "started" -%}
                    CASE WHEN d.enters THEN d.run_started_at ELSE q.{{ column.quoted }} END
                {%- elif column.role == "finished" -%}
                    CASE WHEN d.finishes THEN now_ WHEN d.reopens THEN {{ "NULL" if create else m.where_must(column.quoted, "q." ~ column.quoted) }} ELSE q.{{ column.quoted }} END
                {%- elif column.role == "duration" -%}
                    CASE WHEN d.finishes OR d.reopens THEN {{ "d.duration" if create else "COALESCE(d.duration, " ~ m.where_must(column.quoted, 0) ~ ")" }} ELSE q.{{ column.quoted }} END
                {%- elif column.role == "attempts" -%}
                    d.attempt_num
                {%- elif column.role == "owner" -%}
                    CASE WHEN d.enters THEN d.owner ELSE q.{{ column.quoted }} END
                {%- elif column.role == "error" -%}
                    {#- None is none in this column: an empty text where it may not be NULL. -#}
                    COALESCE({% include "part/error_cut.sql" %}, LEFT({{ m.text_of("q." ~ column.quoted) }}, 0))
                {%- elif column.role == "lease_until" -%}
                    {{ "d.lease_until" if beside else "COALESCE(d.lease_until, d.died_at)" }}
                {%- else -%}
                    d.{{ column.role }}
                {%- endif -%}
                {%- if column.cases %}
            END{% endif %}{% endif %}{{ ")" if keeps }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
{%- if values %}
{%- for column in settable %}{{ "," if written or not loop.first }}
            {{ column.quoted }} = {{ value.becomes(column, "d.new_values", "q." ~ column.quoted) }}
{%- endfor %}
{%- endif %}
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE
            {{ m.at_found("d") }}
{%- if not (own and taken) %}
            AND d.answer = 'OK'
{%- endif %}
{%- if leaves %}
            AND d.status <> 'Completed'
{%- endif %}
{%- if not own or gives or returns_row %}
        RETURNING {{ "q.*, " if returns_row }}{% for column in gives %}d.{{ column }} AS {{ column }}_, {% endfor %}
        {%- if returns_row and not own %}{% for column in key %}d.key_{{ loop.index }} AS key_{{ loop.index }}_, {% endfor %}{% endif %}
        {%- if beside %}{% for l in limits if l.by %}{{ m.limit_key(l) }} AS limit_{{ l.nth }}, {{ "q." ~ l.weight.quoted ~ " AS weight_" ~ l.nth ~ ", " if l.weight }}{% endfor %}{% endif %}
        {%- if own or returns_row %}d.status AS status_{% else %}d.*{% if role.token %}, {{ m.time("q." ~ role.token) }} AS written_token{% endif %}{% endif %}
{%- endif %}
    )
{%- endif %}
{%- if beside %},

    leased AS (
        INSERT INTO {{ object(queue ~ "_lease") }} AS s (
            {{ m.list("key_") }}, status, step, attempt_num, response, error, started_at,
            finished_at, duration, due_at, updated_at, lease_owner, lease_until{{ ", claim_num" if claims }}{% for l in limits if l.by %}, limit_{{ l.nth }}{{ ", weight_" ~ l.nth if l.weight }}{% endfor %}
        )
        SELECT
            {{ m.list("c.key_") }}, c.status, c.step, c.attempt_num, c.response, c.error, c.started_at,
            CASE WHEN c.finishes THEN now_ END, c.duration, c.due_at, c.{{ "written_token" if role.token else "token" }}, c.owner,
            COALESCE(c.lease_until, c.died_at){{ ", c.claim_num" if claims }}{% for l in limits if l.by %},
            CASE WHEN c.enters THEN c.limit_{{ l.nth }} END{{ ", CASE WHEN c.enters THEN COALESCE(c.weight_" ~ l.nth ~ ", 1) END" if l.weight }}{% endfor %}
        FROM changed AS c
        WHERE c.stays
        ORDER BY {{ m.list("c.key_") }}
        ON CONFLICT ({{ m.list("key_") }}) DO UPDATE
        SET
            status = excluded.status, step = excluded.step, attempt_num = excluded.attempt_num,
            response = excluded.response, error = excluded.error, started_at = excluded.started_at,
            finished_at = excluded.finished_at, duration = excluded.duration, due_at = excluded.due_at,
            updated_at = excluded.updated_at, lease_owner = excluded.lease_owner,
            lease_until = excluded.lease_until{{ ",\n            claim_num = excluded.claim_num" if claims }}
{%- for l in limits if l.by %},
            /* An item counts for the key with which it began. */
            limit_{{ l.nth }} = COALESCE(excluded.limit_{{ l.nth }}, s.limit_{{ l.nth }})
{{- ",\n            weight_" ~ l.nth ~ " = COALESCE(excluded.weight_" ~ l.nth ~ ", s.weight_" ~ l.nth ~ ")" if l.weight }}
{%- endfor %}
    )
{%- endif %}
{%- endmacro -%}
