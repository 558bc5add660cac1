    /* A row that was to change and did not is held back by a trigger of the table. */
    told AS (
        SELECT DISTINCT ON (a.ordinal) a.ordinal, a.answer, a.key, a.token, a.attempt_num, a.status
        FROM (
            SELECT
                d.ordinal, CASE WHEN d.answer = 'OK' THEN 'CONFLICT' ELSE d.answer END AS answer,
                {{ m.key_text("d.key_") }} AS key, d.token, d.attempt_num, d.status, 2 AS rank
            FROM decided AS d
            UNION ALL
            SELECT
                c.ordinal, c.answer,
                {{ m.key_text("c.key_") }},
                c.{{ "written_token" if role.token else "token" }},
                c.attempt_num, c.status, 1
            FROM changed AS c
{%- if leaves %}
            UNION ALL
            SELECT r.ordinal, r.answer, {{ m.key_text("r.key_") }}, r.token, r.attempt_num, r.status, 1
            FROM removed AS r
{%- endif %}
        ) AS a
        ORDER BY
            a.ordinal, a.rank
    )
    SELECT json_agg(t ORDER BY t.ordinal)
    INTO answers_
    FROM told AS t;
