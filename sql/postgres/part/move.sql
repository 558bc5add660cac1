{%- set function = object("move_" ~ queue ~ "_trx") -%}
{% filter made("FUNCTION", "move_" ~ queue ~ "_trx", once=true) %}
/*
Moves completed items of a call to the history, as they are now: all columns that both tables had at the install, but for those
of the history that the server fills itself. They are named, and so the function is written by each install: a column that is added
to one of the tables later ends no move, and goes along after the next install.
Table access order: {{ table_name }}, its history.
*/
DO $do$
DECLARE
    columns_ text;
    from_q_ text;
BEGIN
    SELECT
        STRING_AGG(QUOTE_IDENT(q.attname), ', ' ORDER BY q.attnum),
        STRING_AGG('q.' || QUOTE_IDENT(q.attname), ', ' ORDER BY q.attnum)
    INTO columns_, from_q_
    FROM pg_catalog.pg_attribute AS q
    INNER JOIN pg_catalog.pg_attribute AS h ON h.attname = q.attname
    WHERE
        q.attrelid = {{ text(table) }}::regclass
        AND h.attrelid = {{ text(history_table) }}::regclass
        AND q.attnum > 0 AND h.attnum > 0 AND NOT q.attisdropped AND NOT h.attisdropped AND h.attgenerated = ''
        AND h.attidentity <> 'a';
    EXECUTE REPLACE(REPLACE($made$
CREATE OR REPLACE FUNCTION {{ function }}(answers_ json)
RETURNS void
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
BEGIN
{%- include "part/local_time.sql" %}
    WITH said AS MATERIALIZED (
        SELECT
{{- m.key_read("a.key") }}
        FROM json_to_recordset(COALESCE(answers_, '[]')) AS a (answer text, key {{ m.key_given() }}, status text)
        WHERE a.answer = 'OK' AND a.status = 'Completed'
    ),
    done AS MATERIALIZED (
        SELECT {{ m.seeks("v.item_seek_", "seek_") }}s.*
        FROM said AS s
        INNER JOIN LATERAL (
            {{ m.found("s.key_", ["status"]) | indent(12) }}
        ) AS v ON TRUE
    ),
    moved AS (
        DELETE FROM {{ table }} AS q
        USING done AS d
        WHERE {{ m.at_found("d") }}
        RETURNING /* its columns */
    )
    INSERT INTO {{ history_table }} (/* the columns */)
    SELECT m.*
    FROM moved AS m;
END;
$$
    $made$, '/* its columns */', from_q_), '/* the columns */', columns_);
END;
$do$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(json) FROM public;
{% endfilter %}
