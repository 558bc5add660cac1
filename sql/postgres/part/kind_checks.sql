{%- if kind_searches %}
    IF{% if asks_types %} COALESCE(json_array_length(types_), 1){% endif %}{{ " *" if asks_types and asks_steps }}
    {%- if asks_steps %} COALESCE(json_array_length(steps_), 1){% endif %} NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION '{{ procedure }}: from 1 to 100 kinds may be asked for: {{ "types" if asks_types }}{{ " times " if asks_types and asks_steps }}{{ "steps" if asks_steps }}'
        USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
{%- if asks_types and asks_steps and searches_all %}
    IF (types_ IS NULL) <> (steps_ IS NULL) THEN
        RAISE EXCEPTION '{{ procedure }}: of {{ queue }}, who names types names steps too, and the other way round'
        USING ERRCODE = 'RP021';
    END IF;
{%- endif %}
