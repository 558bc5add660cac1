{%- set procedure = "Find_" ~ queue -%}
{%- set item = "v" -%}
/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text). NULL is all items.
One row per item, with the answer FOUND. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full.
Table access order: {{ queue }}.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL,
    @After nvarchar(400) = NULL,
    @Max int = 100
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @From datetime2(7) = '0001-01-01';
{% include "relational/_filter.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    IF @After <> N''
        SET @From = TRY_CONVERT(datetime2(7), @After);
    IF @From IS NULL
        THROW 50021, N'{{ procedure }}: @After is not a key of {{ queue }}.', 1;

    IF @Keys IS NOT NULL
    BEGIN
        SELECT TOP (@Max)
{% include "relational/_found_columns.sql" %}
        FROM @Key AS k
        INNER JOIN {{ object("Worker_" ~ queue ~ "_V") }} AS v
            ON v.[EnqueuedAt] = k.[EnqueuedAt]
        WHERE
            v.[EnqueuedAt] > @From
{% filter indent(4, true) %}{% include "relational/_fits.sql" %}{% endfilter %}
        ORDER BY v.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);

        RETURN 0;
    END;

    SELECT TOP (@Max)
{% include "relational/_found_columns.sql" %}
    FROM {{ object("Worker_" ~ queue ~ "_V") }} AS v
    WHERE
        v.[EnqueuedAt] > @From
{% include "relational/_fits.sql" %}
    ORDER BY v.[EnqueuedAt];

    RETURN 0;
END;
GO
