{% import "macro/item.sql" as item -%}
{%- if attempt_history %}
{%- set procedure = "Attempts_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
The attempts at an item that have ended, the newest @Max of them in the order of their ends. A release is not among
them. It changes nothing, and its locks on rows are let go one by one.
Table access order: {{ called.table ~ ", " if own_types_only }}{{ queue }}_Attempt.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Key nvarchar(4000),{{ " /* a JSON array, with a value for each column of the key */" if composite }}
    @Max int = 100
AS
BEGIN
{% include "part/head.sql" %}
    /* A call that only looks gives way. */
    SET DEADLOCK_PRIORITY LOW;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    SELECT n.[AttemptNum], n.[Worker], n.[StartedAt], n.[EndedAt], n.[Outcome], n.[Step], n.[Response], n.[Error]
    FROM (
        SELECT TOP (@Max)
            a.[Number], a.[AttemptNum], a.[Worker], a.[StartedAt], a.[EndedAt], a.[Outcome], a.[Step], a.[Response], a.[Error]
        FROM (
            SELECT{{ item.reads_text(t, "@Key") | trim(",") }}
        ) AS k ({{ item.names(t) }})
        INNER JOIN {{ t.attempt }} AS a
            ON {{ item.attempt_of(t, "k") }}
{%- if own_types_only %}
        WHERE EXISTS (
            SELECT 1
            FROM {{ table }} AS q
            WHERE
                {{ item.found(t, "k") }}
                AND {% filter indent(16) %}{% include "part/type_access.sql" %}{% endfilter %}
        )
{%- endif %}
        ORDER BY a.[Number] DESC
    ) AS n
    ORDER BY n.[Number];
END;
{% endfilter %}
{%- endif %}
