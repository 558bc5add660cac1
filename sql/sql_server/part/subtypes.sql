{%- if own and subtypes | selectattr("exclusive") | list %}
{% filter made("FUNCTION", queue ~ "_IsType_fn", once=true) %}
/*
Whether this item is of this type: what the tables of the exclusive subtypes check. Made once, since what a constraint
refers to cannot be altered.
*/
IF OBJECT_ID({{ literal(queue ~ "_IsType_fn") }}, N'FN') IS NULL
    EXECUTE (N'CREATE FUNCTION {{ object(queue ~ "_IsType_fn") | replace("'", "''") }} (@EnqueuedAt datetime2(7), @Type nvarchar(60))
RETURNS bit
AS
BEGIN
    RETURN CASE
        WHEN EXISTS (
            SELECT 1 FROM {{ object(queue) | replace("'", "''") }} AS q
            WHERE q.[EnqueuedAt] = @EnqueuedAt AND q.[Type] = @Type
        ) THEN 1
        ELSE 0
    END;
END;');
{% endfilter %}
{%- endif %}
{%- for subtype in subtypes %}
{%- set part = queue ~ "_" ~ subtype.stem %}
{% filter made("TABLE", part if own else subtype.place, theirs=not own) %}
/* {{ "The columns of items of the type " ~ subtype.name ~ ", and of no others." if subtype.exclusive else "The columns of some items: any may have them." }} A row is a part of its item, and goes with it. */
IF OBJECT_ID({{ text(subtype.table) }}, N'U') IS NULL
    CREATE TABLE {{ subtype.table }} (
{%- for k in t.key %}
        {{ k.quoted }} {{ k.type }}{{ k.collate }} NOT NULL,
{%- endfor %}
{%- for column in subtype.columns %}
        {{ of.declared(column) }},
{%- endfor %}{{ of.constraints(subtype.columns) }}
        CONSTRAINT [PK_{{ part }}] PRIMARY KEY CLUSTERED ({{ t.key | map(attribute="quoted") | join(", ") }}),
        CONSTRAINT [{{ subtype.name }}_Is_{{ queue }}]
            FOREIGN KEY ({{ t.key | map(attribute="quoted") | join(", ") }}) REFERENCES {{ table }} ({{ t.key | map(attribute="quoted") | join(", ") }}) ON DELETE CASCADE
    );
{% endfilter %}
{%- if subtype.exclusive and own %}
{% filter statement %}
IF NOT EXISTS (
    SELECT 1 FROM sys.check_constraints AS k
    WHERE
        k.[parent_object_id] = OBJECT_ID({{ literal(part) }})
        AND k.[name] = N'{{ subtype.name }}_IsType_{{ queue }}'
)
    ALTER TABLE {{ object(part) }}
    ADD CONSTRAINT [{{ subtype.name }}_IsType_{{ queue }}]
        CHECK ({{ object(queue ~ "_IsType_fn") }}([EnqueuedAt], {{ text(subtype.name) }}) = 1);
{% endfilter %}
{%- endif %}
{%- endfor %}
