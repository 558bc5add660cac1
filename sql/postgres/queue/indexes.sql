{#- Whether all indexes that were to be made are where they belong. -#}
{% filter statement %}
/* An index IF NOT EXISTS is not made where anything else in the schema has its name. */
DO $$
DECLARE
    missing_ text;
BEGIN
    missing_ := (
        SELECT w.name
        FROM (
            VALUES
{%- for index in indexes %}
            ({{ text(index.name) }}, {{ text(index.table) }}){{ "," if not loop.last }}
{%- endfor %}
        ) AS w (name, place)
        WHERE
            NOT EXISTS (
                SELECT 1
                FROM pg_catalog.pg_index AS x
                INNER JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
                WHERE x.indrelid = w.place::regclass AND i.relname = w.name::name
            )
        LIMIT 1
    );
    IF missing_ IS NOT NULL THEN
        RAISE EXCEPTION 'the index % is not made: something else in the schema of its table has the name; rename that, or drop it',
            missing_
        USING ERRCODE = 'RP014';
    END IF;
END;
$$;
{% endfilter %}
