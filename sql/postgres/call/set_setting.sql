{%- if settings_of.theirs -%}
WITH given AS (SELECT ?::text AS param, ?::integer AS value), 
changed AS (
    UPDATE {{ settings_of.table }} AS a
    SET {{ settings_of.value }} = g.value
    FROM given AS g
    WHERE a.{{ settings_of.param }} = g.param
    RETURNING 1
)

INSERT INTO {{ settings_of.table }} ({{ settings_of.param }}, {{ settings_of.value }})
SELECT g.param, g.value
FROM given AS g
WHERE NOT EXISTS (SELECT 1 FROM changed)
{%- else -%}
INSERT INTO {{ object("app_settings") }} (param, val_int)
VALUES (?::text, ?::integer)
ON CONFLICT (param) DO UPDATE
SET val_int = excluded.val_int
{%- endif %}
