{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Find_" ~ queue -%}
{%- set offset = "@Offset" -%}
/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text). NULL is all items.
One row per item, with the answer FOUND. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full.
Table access order: {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL,
    @After nvarchar(4000) = NULL,
    @Max int = 100
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
{% include "adopted/_clock_variables.sql" %}
{% include "adopted/_filter.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    SET @After = NULLIF(@After, N'');
    INSERT INTO @Given ([Ordinal], {{ n.names(key) }})
    SELECT -1,{{ n.reads(key, "a.[After]") | trim | trim(",") }}
    FROM (SELECT @After AS [After]) AS a
    WHERE a.[After] IS NOT NULL;
    IF EXISTS (SELECT 1 FROM @Given AS g WHERE {% for k in key %}g.{{ k.quoted }} IS NULL{{ " OR " if not loop.last }}{% endfor %})
        THROW 50021, N'{{ procedure }}: @After is not a key of {{ queue }}.', 1;
{% filter replace("\n        ", "\n    ") %}{% include "adopted/_clock.sql" %}{% endfilter %}
{% for by_keys in [true, false] %}
{%- if by_keys %}
    IF @Keys IS NOT NULL
    BEGIN
{%- endif %}
{%- filter indent(4 if by_keys else 0) %}
    SELECT TOP (@Max)
        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        {{ n.text(key, "q") }} AS [Key],
        {{ n.token(role) }} AS [Token],
        {{ n.attempts(role) }} AS [AttemptNum],
{% filter indent(8, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [Status],
{%- filter indent(4) %}{% include "adopted/_item_columns.sql" %}{% endfilter %}
{%- if by_keys %}
    FROM @Key AS k
    INNER JOIN {{ table }} AS q
        ON {{ n.found(key, seek, "k") }}
{%- else %}
    FROM {{ table }} AS q
{%- endif %}
    LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
        ON {{ n.same(key, "s", "q") }}
    WHERE
{%- include "adopted/_fits.sql" %}
        AND (@After IS NULL OR EXISTS (SELECT 1 FROM @Given AS g WHERE g.[Ordinal] = -1 AND (
{%- for k in key %}{{ " OR (" if not loop.first }}{% for before in key[:loop.index0] %}q.{{ before.quoted }} = g.{{ before.quoted }} AND {% endfor %}q.{{ k.quoted }} > g.{{ k.quoted }}{{ ")" if not loop.first }}{% endfor -%}
        )))
    ORDER BY {{ n.list(key, "q") }}{{ "\n    OPTION (LOOP JOIN, FORCE ORDER)" if by_keys }};
{% endfilter %}
{%- if by_keys %}

        RETURN 0;
    END;
{% endif %}
{%- endfor %}

    RETURN 0;
END;
GO
