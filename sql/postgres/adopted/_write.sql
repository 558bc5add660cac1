    /*
    Into the table what it has columns for, and all of it into
    {{ queue }}_lease. An item that a trigger of the table keeps from changing counts as not changed.
    */
    changed AS (
        UPDATE {{ table }} AS q
        SET
{%- for column in written %}
            {{ column.quoted }} = {% if column.cases %}CASE
{%- for case in column.cases %}
                WHEN
                    d.status IN (
                        {% for state in case.states %}{{ text(state) }}{{ (",\n                        " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                    )
                    THEN {% if case.holds == "something" -%}
                {%- if column.role == "error" -%}
                    COALESCE(NULLIF({% include "adopted/_error.sql" %}, ''), q.{{ column.quoted }}, d.status)
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
                    CASE WHEN d.finishes THEN now_ WHEN d.reopens THEN NULL ELSE q.{{ column.quoted }} END
                {%- elif column.role == "duration" -%}
                    CASE WHEN d.finishes OR d.reopens THEN d.duration ELSE q.{{ column.quoted }} END
                {%- elif column.role == "attempts" -%}
                    d.attempt_num
                {%- elif column.role == "owner" -%}
                    CASE WHEN d.enters THEN d.owner ELSE q.{{ column.quoted }} END
                {%- elif column.role == "error" -%}
                    {% include "adopted/_error.sql" %}
                {%- else -%}
                    d.{{ column.role }}
                {%- endif -%}
                {%- if column.cases %}
            END{% endif %}{{ "," if not loop.last }}
{%- endfor %}
        FROM decided AS d
        WHERE
            {% set of = "d." -%}{% include "adopted/_at_found.sql" %}
            AND d.answer = 'OK'
{%- if completion == "delete" %}
            AND d.status <> 'Completed'
{%- endif %}
        RETURNING d.*{% if role.token %}, q.{{ role.token }}::timestamptz AS written_token{% endif %}
    ),

    leased AS (
        INSERT INTO {{ object(queue ~ "_lease") }} AS s (
            {% set of = "key_" %}{% include "adopted/_key_list.sql" %}, status, step, attempt_num, response, error, started_at,
            finished_at, duration, due_at, updated_at, lease_owner, lease_until
        )
        SELECT
            {% set of = "c.key_" %}{% include "adopted/_key_list.sql" %}, c.status, c.step, c.attempt_num, c.response, c.error,
            c.started_at, CASE WHEN c.finishes THEN now_ END, c.duration, c.due_at, c.{{ "written_token" if role.token else "token" }}, c.owner, COALESCE(c.lease_until, c.died_at)
        FROM changed AS c
        WHERE c.stays
        ORDER BY {% include "adopted/_key_list.sql" %}
        ON CONFLICT ({% set of = "key_" %}{% include "adopted/_key_list.sql" %}) DO UPDATE
        SET
            status = excluded.status,
            step = excluded.step,
            attempt_num = excluded.attempt_num,
            response = excluded.response,
            error = excluded.error,
            started_at = excluded.started_at,
            finished_at = excluded.finished_at,
            duration = excluded.duration,
            due_at = excluded.due_at,
            updated_at = excluded.updated_at,
            lease_owner = excluded.lease_owner,
            lease_until = excluded.lease_until
    )
