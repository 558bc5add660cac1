{%- import "macro/column.sql" as of -%}
{#- Objects that have to go or change before the queue's script makes its objects anew. -#}
{%- if operates_no_more %}
{% filter statement %}
/* The role saw all types as the queue's operator. */
DELETE FROM {{ object("queue_type_access") }} AS a
WHERE a.queue = '{{ queue }}' AND a.type = '*' AND a.user_name = {{ text(operates_no_more) }};
{% endfilter %}
{%- endif %}
{%- for rows in needs_no_more %}
{% filter statement %}
DELETE FROM {{ object(rows) }} WHERE queue = '{{ queue }}';
{% endfilter %}
{%- endfor %}
{%- if objects %}
{% filter statement %}
/* A function whose parameters or results change is another function: the old ones go, and who may use them is kept. */
CREATE TEMPORARY TABLE readpast_kept_grant ON COMMIT DROP AS
SELECT g.kind, g.name, a.grantee, a.privilege_type, a.is_grantable
FROM (
    SELECT 'FUNCTION' AS kind, p.proname AS name, p.proowner AS owner, p.proacl AS acl
    FROM pg_proc AS p
    WHERE p.pronamespace = {{ text(schema) }}::regnamespace
    UNION ALL
    SELECT 'VIEW' AS kind, c.relname AS name, c.relowner AS owner, c.relacl AS acl
    FROM pg_class AS c
    WHERE c.relnamespace = {{ text(schema) }}::regnamespace AND c.relkind = 'v'
) AS g
CROSS JOIN LATERAL aclexplode(g.acl) AS a
WHERE
    a.grantee NOT IN (0, g.owner)
    AND (g.kind, g.name) IN (
{%- for object in objects %}
        ({{ text(object.kind) }}, {{ text(object.bare) }}){{ "," if not loop.last }}
{%- endfor %}
    )
{%- if grants %}
    /* Rights that the description gave and gives no more. */
    AND (a.privilege_type, g.name, pg_get_userbyid(a.grantee)) NOT IN (
{%- for grant in grants %}
        ({{ text(grant.right) }}, {{ text(grant.bare) }}, {{ text(grant.role_name) }}){{ "," if not loop.last }}
{%- endfor %}
    )
{%- endif %};
{% endfilter %}
{% filter statement %}
DO $$
DECLARE
    function_ regprocedure;
BEGIN
    FOR function_ IN
        SELECT p.oid
        FROM pg_proc AS p
        WHERE
            p.pronamespace = {{ text(schema) }}::regnamespace
            AND p.proname IN (
{%- for object in objects if object.kind == "FUNCTION" %}
                {{ text(object.bare) }}{{ "," if not loop.last }}
{%- endfor %}
            )
            /* A function that a constraint calls stays as it is. */
            AND NOT EXISTS (
                SELECT 1
                FROM pg_depend AS d
                WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid AND d.deptype = 'n'
            )
    LOOP
        EXECUTE 'DROP FUNCTION ' || function_;
    END LOOP;
END;
$$;
{% endfilter %}
{%- for object in objects if object.kind == "VIEW" %}
{% filter statement %}
DROP VIEW IF EXISTS {{ object.name }};
{% endfilter %}
{%- endfor %}
{%- endif %}
{%- if beside_no_more %}
{% filter statement %}
/* Reports went with the row beside their item. */
ALTER TABLE IF EXISTS {{ object(queue ~ "_progress") }} DROP CONSTRAINT IF EXISTS progress_is_{{ queue }};
{% endfilter %}
{%- endif %}
{%- for index in indexes %}
{% filter statement %}
/* Made again below, in its new shape. */
DROP INDEX IF EXISTS {{ index.qualified }};
{% endfilter %}
{%- endfor %}
{%- for column in columns %}{% for constraint in column.dropped %}
{% filter statement %}
ALTER TABLE {{ column.table }} DROP CONSTRAINT IF EXISTS {{ constraint.name }};
{% endfilter %}
{%- endfor %}{% endfor %}
{%- for column in columns %}
{%- if column.drops_default %}
{% filter statement %}
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} DROP DEFAULT;
{% endfilter %}
{%- endif %}
{%- if column.added and not column.nullable %}
{% filter statement %}
ALTER TABLE {{ column.table }} ADD COLUMN IF NOT EXISTS {{ of.declared(column) }};
{% endfilter %}
{%- if column.history %}
{% filter statement %}
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} DROP DEFAULT;
{% endfilter %}
{%- endif %}
{%- elif column.added %}
{% filter statement %}
ALTER TABLE {{ column.table }} ADD COLUMN IF NOT EXISTS {{ of.history(column) }};
{% endfilter %}
{%- elif column.retyped %}
{% filter statement %}
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} TYPE {{ column.stored }};
{% endfilter %}
{%- if column.nullable %}
{% filter statement %}
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} DROP NOT NULL;
{% endfilter %}
{%- endif %}
{%- endif %}
{%- if column.adds_default or (column.added and column.nullable and column.default and not column.history) %}
{% filter statement %}
/* New rows only: those that are there were enqueued without it, and stay as they are. */
ALTER TABLE {{ column.table }} ALTER COLUMN {{ column.quoted }} SET DEFAULT {{ column.default }};
{% endfilter %}
{%- endif %}
{%- endfor %}
{%- for column in columns %}{% for constraint in column.added_constraints %}
{% filter statement %}
/* Refused where a row that is there breaks it. */
ALTER TABLE {{ column.table }} ADD CONSTRAINT {{ constraint.name }}
{{ constraint.definition }};
{% endfilter %}
{%- endfor %}{% endfor %}
