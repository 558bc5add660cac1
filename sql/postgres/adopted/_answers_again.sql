json_to_recordset(COALESCE(answers_, '[]')) AS a (
        ordinal integer, answer text, key text, token timestamptz, attempt_num integer, status text
    )
{%- if false %}{% endif -%}
