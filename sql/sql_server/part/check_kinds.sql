{%- for given in (["@Types"] if asks_types else []) + (["@Steps"] if asks_steps else []) %}
    IF {{ given }} IS NOT NULL AND (
        NOT EXISTS (SELECT 1 FROM OPENJSON({{ given }}))
        OR EXISTS (SELECT 1 FROM OPENJSON({{ given }}) AS j WHERE j.[type] <> 1 OR DATALENGTH(j.[value]) > 120)
    )
        THROW 50021, N'{{ procedure }}: {{ given }} has to be a JSON array of texts of at most 60 characters.', 1;
{%- endfor %}
{%- if asks_types and asks_steps %}
    IF @Types IS NOT NULL AND @Steps IS NOT NULL
        AND (SELECT COUNT(*) FROM OPENJSON(@Types)) * (SELECT COUNT(*) FROM OPENJSON(@Steps)) > 100
        THROW 50021, N'{{ procedure }}: at most 100 kinds: types times steps.', 1;
{%- if searches_all %}
    IF (@Types IS NULL AND @Steps IS NOT NULL) OR (@Types IS NOT NULL AND @Steps IS NULL)
        THROW 50021, N'{{ procedure }}: of {{ queue }}, who names types names steps too, and the other way round.', 1;
{%- endif %}
{%- elif kind_searches %}
    IF (SELECT COUNT(*) FROM OPENJSON({{ "@Types" if asks_types else "@Steps" }})) > 100
        THROW 50021, N'{{ procedure }}: at most 100 {{ "types" if asks_types else "steps" }}.', 1;
{%- endif %}
