{% import "part/item.sql" as item -%}
{%- set procedure = "Find_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text), longer_ms (its last attempt took
more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full; with @Most, no more than that many items. A second result with the
answer MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL,
    @After nvarchar(4000) = NULL,
    @Max int = 100,
    @Most int = NULL
AS
BEGIN
{% include "part/head.sql" %}
    /* A call that only looks gives way. */
    SET DEADLOCK_PRIORITY LOW;
{% include "part/clock_variables.sql" %}
{% include "part/filter.sql" %}
    DECLARE @_Further bit = 0;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;
    IF @Most < 1
        THROW 50021, N'{{ procedure }}: @Most must be 1 or more, or NULL.', 1;

    SET @After = NULLIF(@After, N'');
    INSERT INTO @_Given ([Ordinal], {{ item.names(t) }})
    SELECT -1,{{ item.reads_text(t, "a.[After]") | trim | trim(",") }}
    FROM (SELECT @After AS [After]) AS a
    WHERE a.[After] IS NOT NULL;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE {{ item.missing(t, "g") }})
        THROW 50021, N'{{ procedure }}: @After is not a key of {{ queue }}.', 1;
{% filter replace("\n        ", "\n    ") %}{% include "part/clock.sql" %}{% endfilter %}

{%- macro beyond(ordinal, op) %}
{%- if t.key | length > 1 %}q.{{ t.key[0].quoted }} {{ op }}= (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = {{ ordinal }})
            AND EXISTS (
                SELECT 1 FROM @_Given AS g
                WHERE
                    g.[Ordinal] = {{ ordinal }}
                    AND (
{%- for k in t.key %}
                        {{ "OR (" if not loop.first }}{% for before in t.key[:loop.index0] %}q.{{ before.quoted }} = g.{{ before.var }} AND {% endfor %}q.{{ k.quoted }} {{ op }}{{ "=" if loop.last and op == "<" }} g.{{ k.var }}{{ ")" if not loop.first }}
{%- endfor %}
                    )
            )
{%- else %}q.{{ t.key[0].quoted }} {{ "<=" if op == "<" else op }} (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = {{ ordinal }})
{%- endif %}
{%- endmacro %}
{% set of_states = {
    "ended": ["Failed", "Cancelled", "Paused", "Terminated", "PartiallyCompleted"],
    "flying": ["Processing"],
    "waiting": ["Pending", "Error"],
} -%}
{%- set index = {"ended": "[IX_" ~ queue ~ "_Ended]", "flying": "[IX_" ~ queue ~ "_InFlight]", "waiting": t.due_index} -%}
{% for by in ["keys", "ended", "flying", "waiting", "all"] if own or by not in of_states %}
{%- if by == "keys" %}
    IF @_Keys IS NOT NULL
    BEGIN
{%- elif by == "ended" %}
    IF NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] NOT IN ({{ item.states(of_states[by]) }}))
    BEGIN
        /* They have an index of their own. */
{%- elif by != "all" %}
    IF
        NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] NOT IN ({{ item.states(of_states[by]) }}))
        AND (
            @Most IS NULL
            OR @Most > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM {{ table }} AS q WITH (INDEX ({{ index[by] }}))
                    WHERE q.[Status] IN ({{ item.states(of_states[by]) }})
                ) AS n
            )
        )
    BEGIN
        /* They have an index of their own, in another order: good for as many as may be read. */
{%- endif %}
{%- filter indent(4 if by != "all" else 0) %}
{%- set range %}
        (@After IS NULL OR ({{ beyond(-1, ">") }}))
{%- if by in of_states %}
        AND q.[Status] IN ({{ item.states(of_states[by]) }})
{%- endif %}
{%- endset %}
{%- if by in ["ended", "all"] %}
    /* How far: as many items on as are to be read, else to the end. */
    IF @Most IS NOT NULL
    BEGIN
        INSERT INTO @_Given ([Ordinal], {{ item.names(t) }})
        SELECT -2, {{ item.of_item(t, "l") }}
        FROM (
            SELECT {{ item.of_item(t) }}
            FROM {{ table }} AS q{{ " WITH (INDEX (" ~ index[by] ~ "))" if by == "ended" }}
            WHERE
{%- filter indent(8) %}{{ range }}{% endfilter %}
            ORDER BY {{ item.of_item(t) }}
            OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        ) AS l
        OPTION (RECOMPILE);

        SET @_Further = @@ROWCOUNT;
    END;

{%- endif %}
    SELECT TOP (@Max)
        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        {{ item.as_text(t, "q", "quoted") }} AS [Key],
        {{ item.token(t) }} AS [Token],
        {{ item.attempts(t) }} AS [AttemptNum],
        {{ item.status(t) }} AS [Status],
{%- filter indent(4) %}{{ item.columns(t, for_workers=false) | trim(",") }}{% endfilter %}
{%- if by == "keys" %}
    FROM @_Key AS k
    INNER JOIN {{ table }} AS q
        ON {{ item.found(t, "k") }}
{%- elif by in of_states %}
    FROM {{ table }} AS q WITH (INDEX ({{ index[by] }}))
{%- else %}
    FROM {{ table }} AS q
{%- endif %}
{{- item.beside(t) }}
{{- item.subtypes(t) }}
    WHERE
{%- include "part/fits.sql" -%}
{{ "\n        AND " ~ range | trim }}
{%- if by in ["ended", "all"] %}
        AND (@_Further = 0 OR ({{ beyond(-2, "<") }}))
{%- endif %}
{%- if own_types_only %}
        AND {% filter indent(8) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
    ORDER BY {{ item.of_item(t) }}
    /* For this filter: which of its members are there decides how the items are reached. */
    OPTION ({{ "LOOP JOIN, FORCE ORDER, " if by == "keys" }}RECOMPILE);
{%- if by in ["ended", "all"] %}

    IF @@ROWCOUNT < @Max AND @_Further = 1
        SELECT
            'MORE' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            {{ item.as_text(t, "g") }} AS [Key]
        FROM @_Given AS g
        WHERE g.[Ordinal] = -2;
{%- endif %}
{% endfilter %}
{%- if by != "all" %}

        RETURN 0;
    END;
{% endif %}
{%- endfor %}

    RETURN 0;
END;
{% endfilter %}
