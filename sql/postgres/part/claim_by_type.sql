    /*
    The caller's types, each sought by itself, first the one whose head has been due longest: what waits of other types
    is neither read nor locked.
    */
    FOR own_type_ IN
        SELECT t.type
        FROM UNNEST(ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}]) AS t (type)
        CROSS JOIN LATERAL (
            SELECT q.{{ role.due }}
            FROM {{ table }} AS q
            WHERE
                q.{{ role.kind }} = t.type
                AND {{ m.waiting() }}
                AND {{ m.due() }} <= now_
            ORDER BY
{%- for column in due_columns %}
                q.{{ column.quoted }}{{ " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor %}
            LIMIT 1
        ) AS h
        WHERE {{ m.type_seen("t.type") }}
        ORDER BY
            h.{{ role.due }},
            t.type
    LOOP
        FOR
            answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status
{%- for column in shown %}{{ ",\n            " if loop.index0 % 8 == 0 else ", " }}{{ column.name }}{% endfor %}
        IN
{% include "part/claim.sql" %}
        LOOP
            RETURN NEXT;
            claimed_ := claimed_ + 1;
            alone_ := answer = 'CLAIMED_ALONE';
        END LOOP;
        EXIT WHEN alone_ OR claimed_ = max_;
    END LOOP;
    IF claimed_ > 0 THEN
        RETURN;
    END IF;
