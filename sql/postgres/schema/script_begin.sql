{% filter statement %}
/*
{{ title }}
{% if drops -%}
Rendered by readpast {{ library }} for objects of version {{ version }}.
{% else -%}
Rendered by readpast {{ library }}; the objects have version {{ version }}. Made anew whenever it is rendered: change the
description, not this text.
{% endif %}
To run it, as {{ "the role that installed the queue" if drops else "a role that may create schemas, tables and functions" }}:
    psql --set ON_ERROR_STOP=1 --file <file> <database>
An error takes everything back. What is there already as it should be is left alone, so it may be run again.
*/
BEGIN;
{% endfilter %}
{% filter statement %}
SET LOCAL client_min_messages = warning;
{% endfilter %}
{% filter statement %}
SELECT pg_advisory_xact_lock(hashtextextended({{ text(lock) }}, 0))
WHERE NOT {% include "part/is_there.sql" %};
{% endfilter %}
{% filter statement %}
/* Nothing of anybody else's is run on the way. */
SET LOCAL search_path = pg_catalog, pg_temp;
{% endfilter %}
{% filter statement %}
DO $$
DECLARE
    other_ record;
BEGIN
{%- set names = text(names) ~ "::json" %}
    FOR other_ IN
{% filter indent(4, true) %}{% include "part/owners.sql" %}{% endfilter %}
    LOOP
        RAISE EXCEPTION '% % % %', other_.kind, other_.name, other_.verb, other_.owner
        USING ERRCODE = '42501', HINT = other_.remedy;
    END LOOP;
END;
$$;
{% endfilter %}
{% filter statement %}
{% include "part/lock_schema.sql" %};
{% endfilter %}
