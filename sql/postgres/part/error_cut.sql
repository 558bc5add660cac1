LEFT(d.error, COALESCE((
                        /* As much as the column takes. */
                        SELECT a.atttypmod - 4
                        FROM pg_catalog.pg_attribute AS a
                        WHERE
                            a.attrelid = '{{ table | replace("'", "''") }}'::regclass
                            AND a.attname = {{ text(role.error | trim('"') | replace('""', '"')) }}
                            AND a.atttypid IN ('varchar'::regtype, 'bpchar'::regtype)
                            AND a.atttypmod > 4
                    ), 2147483647))
{%- if false %}{% endif -%}
