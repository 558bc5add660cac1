{% import "macro/item.sql" as item -%}
{%- include "part/has.sql" %}
{%- set procedure = "Find_" ~ queue -%}
{% filter made("PROCEDURE", procedure) %}
/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and its last key begins the next.
@Filter is a JSON object, of which every member narrows the choice: keys, status and types (arrays), before and after (UTC, of the last
change), error (a part of its text), longer_ms (its last attempt took more milliseconds, or has taken them by now){% if searchable %}, columns and
members (values that it has: {{ queue }}_Has_fn){% endif %}. NULL is all items.
One row per item, with the answer FOUND; secret columns are NULL. It changes nothing, and lets its locks on rows go one by one. Without keys
it reads the table until the page is full; with @Most, no more than that many items. A second result, MORE, has the key to go on after, if any.
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL, @After nvarchar(4000) = NULL, @Max int = 100, @Most int = NULL
AS
BEGIN
{% include "part/head.sql" %}
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
{% include "part/clock_variables.sql" %}
    DECLARE @_Look varchar(10);
{%- for k in t.key %}
    DECLARE @_Begin{{ loop.index }} {{ k.type }};
    DECLARE @_End{{ loop.index }} {{ k.type }};
{%- endfor %}
    DECLARE @_Page TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
{% include "part/filter.sql" %}
    IF @Most < 1
        THROW 50021, N'{{ procedure }}: @Most must be 1 or more, or NULL.', 1;
    SET @After = NULLIF(@After, N'');
{%- for k in t.key %}
    SET @_Begin{{ loop.index }} = {{ item.read_part(t, k, loop.index0, "@After") }};
{%- endfor %}
    IF @After IS NOT NULL AND {{ "(" if t.key | length > 1 }}{% for k in t.key %}@_Begin{{ loop.index }} IS NULL{{ " OR " if not loop.last }}{% endfor %}{{ ")" if t.key | length > 1 }}
        THROW 50021, N'{{ procedure }}: @After is not a key of {{ queue }}.', 1;
{% include "part/clock.sql" %}

{#- The items that come after a key, or up to it; without one all. -#}
{%- macro beyond(op, name) -%}
(@{{ name }}1 IS NULL OR {% if t.key | length > 1 %}(q.{{ t.key[0].quoted }} {{ op }}= @{{ name }}1 AND ({% endif %}
{%- for k in t.key %}
{%- set last = loop.last %}
{{- " OR (" if not loop.first }}{% for before in t.key[:loop.index0] %}q.{{ before.quoted }} = @{{ name }}{{ loop.index }} AND {% endfor -%}
q.{{ k.quoted }} {{ op }}{{ "=" if last and op == "<" }} @{{ name }}{{ loop.index }}{{ ")" if not loop.first }}
{%- endfor %}{{ "))" if t.key | length > 1 }})
{%- endmacro %}
{%- set of_states = {
    "ended": ["Failed", "Cancelled", "Paused", "Terminated", "PartiallyCompleted"], "flying": ["Processing"],
    "waiting": ["Pending", "Error"],
} if own else {} -%}
{%- set index = {"ended": "[IX_" ~ queue ~ "_Ended]", "flying": "[IX_" ~ queue ~ "_InFlight]", "waiting": t.due_index} if own else {} -%}
{%- set into = "@_Page" %}
{%- set hints = "" %}
{%- set after = beyond(">", "_Begin") %}

{%- if own %}
    /* Those that wait or are in flight have an index in another order: good for as many as may be read. */
    SET @_Look = CASE
        WHEN JSON_QUERY(@Filter, '$.keys') IS NOT NULL THEN 'keys'
        WHEN @_Statuses IS NULL THEN 'all'
{%- for by in ["ended", "flying", "waiting"] %}
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ({{ item.states(of_states[by]) }})
            )
{%- if by != "ended" %}
            AND COALESCE(@Most, 2147483647) > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM {{ table }} AS q WITH (INDEX ({{ index[by] }}))
                    WHERE q.[Status] IN ({{ item.states(of_states[by]) }})
                ) AS n
            )
{%- endif %}
            THEN '{{ by }}'
{%- endfor %}
        ELSE 'all'
    END;
{%- else %}
    SET @_Look = CASE WHEN JSON_QUERY(@Filter, '$.keys') IS NOT NULL THEN 'keys' ELSE 'all' END;
{%- endif %}

    /* How far: as many items on as are to be read, else to the end. */
{%- for by in ["ended", "all"] if own or by == "all" %}
    IF @_Look = '{{ by }}' AND @Most IS NOT NULL
        SELECT {% for k in t.key %}@_End{{ loop.index }} = q.{{ k.quoted }}{{ ", " if not loop.last }}{% endfor %}
        FROM {{ table }} AS q{{ " WITH (INDEX (" ~ index[by] ~ "))" if by == "ended" }}
        WHERE
            {{ after }}{{ item.its(t, " AND ") }}
{%- if by == "ended" %}
            AND q.[Status] IN ({{ item.states(of_states[by]) }})
{%- endif %}
        ORDER BY {{ item.of_item(t) }}
        OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        OPTION (RECOMPILE);
{%- endfor %}
    /* Planned for this filter: which of its members are there decides how the items are reached. */
{%- for by in ["keys", "ended", "flying", "waiting", "all"] if own or by not in ["ended", "flying", "waiting"] %}
{%- set further %}
        AND {{ after }}
{%- if by in ["ended", "all"] %}
        AND {{ beyond("<", "_End") }}
{%- endif %}
{%- if own_types_only %}
        AND {% filter indent(8) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
{%- endset %}
    {{ "ELSE" if not loop.first }}{{ " " if not loop.first and not loop.last }}{{ "IF @_Look = '" ~ by ~ "'" if not loop.last }}
{%- filter indent(4) %}{{ "\n" }}{% include "part/search.sql" %}{% endfilter %}
{%- endfor %}

    /* A full page, but an item of it may be another by now. */
    IF (SELECT COUNT(*) FROM @_Page) = @Max
        SELECT TOP (1) {% for k in t.key %}@_End{{ loop.index }} = p.{{ k.var }}{{ ", " if not loop.last }}{% endfor %}
        FROM @_Page AS p
        ORDER BY {% for k in t.key %}p.{{ k.var }} DESC{{ ", " if not loop.last }}{% endfor %};
    SELECT
        'FOUND' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs],
        {{ item.as_text(t, "q", "quoted") }} AS [Key],
        {{ item.token(t) }} AS [Token],
        {{ item.attempts(t) }} AS [AttemptNum],
        {{ item.status(t) }} AS [Status],
{%- filter indent(4) %}{{ item.columns(t, for_workers=false) | trim(",") }}{% endfilter %}
    FROM @_Page AS p
    INNER JOIN {{ table }} AS q
        ON {{ item.found(t, "p") }}
{{- item.beside(t) | indent(4) }}
{{- item.subtypes(t) | indent(4) }}
{%- include "part/fits.sql" %}
    WHERE fit.[Fits] = 1
    ORDER BY {{ item.of_item(t) }}
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @@ROWCOUNT < @Max AND @_End1 IS NOT NULL
        SELECT
            'MORE' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs],
            {{ item.as_text(t, "g") }} AS [Key]
        FROM (SELECT {% for k in t.key %}@_End{{ loop.index }} AS {{ k.var }}{{ ", " if not loop.last }}{% endfor %}) AS g;
END;
{% endfilter %}
