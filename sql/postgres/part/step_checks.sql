{%- if steps %}
    no_step_ := (
        SELECT i.step
        FROM json_to_recordset(items_) AS i (step text)
        WHERE i.step NOT IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %})
        LIMIT 1
    );
    IF no_step_ IS NOT NULL THEN
        RAISE EXCEPTION '{{ procedure }}: the step % is none of the queue''s', quote_literal(no_step_)
        USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
