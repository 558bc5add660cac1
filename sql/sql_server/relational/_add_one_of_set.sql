{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "Add_" ~ queue ~ "_" ~ transaction %}
/*
Enqueue one item {{ "inside the caller's transaction" if transaction == "utx" else "in a commit of its own" }}.
Returns the answer of Add_{{ queue }}_Set_{{ transaction }}, with its key and its concurrency token.
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Type {{ object("_Type") }} = {{ text(types[0]) }},
{%- for column in columns %}
    {{ column.parameter }} {{ column.type }}{{ " = NULL" if column.nullable }},
{%- endfor %}
{%- for subtype in subtypes %}
    {{ subtype.parameter }} nvarchar(max) = NULL, /* a JSON object of its columns */
{%- endfor %}
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL is now */
    @Step {{ object("QueueStep") }} = NULL
AS
BEGIN
{%- if transaction == "trx" %}
{% include "relational/_procedure_head.sql" %}
{%- else %}
    SET NOCOUNT, XACT_ABORT ON;
{%- endif %}
    DECLARE @Items nvarchar(max);

{% if transaction == "trx" -%}
{% include "relational/_no_transaction.sql" %}
{%- else %}
    IF @@TRANCOUNT = 0
        THROW 50012, N'{{ procedure }} works inside the transaction of its caller; begin one first.', 1;
{%- endif %}

{%- if columns | selectattr("type", "equalto", "float") | list %}
    /* JSON has 16 digits of a float; style 3 has all 17. */
{%- endif %}
    SET @Items = (
        SELECT
            @Type AS [type],
            @Step AS [step],
            @ScheduledFor AS [due]
{%- for column in columns if not column.is_json -%}
            ,
            {% if column.type == "float" %}CONVERT(nvarchar(30), {{ column.parameter }}, 3){% else %}{{ column.parameter }}{% endif %} AS [columns.{{ column.name }}]
{%- endfor %}
        FOR JSON PATH
    );
{%- set json = subtypes + (columns | selectattr("is_json") | list) %}
{%- for part in json %}
{%- if loop.first %}
    /* What is JSON itself goes in as it is. */
    IF JSON_QUERY(@Items, '$[0].columns') IS NULL
        SET @Items = JSON_MODIFY(@Items, '$[0].columns', JSON_QUERY(N'{}'));
{%- endif %}
    SET @Items = JSON_MODIFY(@Items, '$[0].columns."{{ part.name }}"', JSON_QUERY({{ part.parameter }}));
{%- endfor %}
    EXECUTE {{ object("Add_" ~ queue ~ "_Set_" ~ transaction) }} {{ "@Operation = NULL, " if transaction == "trx" }}@Items = @Items;

    RETURN 0;
END;
GO
{%- endfor %}
