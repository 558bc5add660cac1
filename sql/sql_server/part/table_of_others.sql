{%- if create %}
{%- set at_once = "SYSDATETIME()" if local_time else "SYSUTCDATETIME()" %}
{% filter made("TABLE", place, theirs=true) %}
/*
{{ queue }}: the items, in the shape that its description gives.
{%- if dedup %} The same work is kept out by a constraint only where that
needs no filter, as rows without a value or finished ones would: an index with a filter is refused who writes with other
settings (error 1934).
{%- endif %}
*/
IF OBJECT_ID({{ text(table) }}, N'U') IS NULL
    CREATE TABLE {{ table }} (
{%- for c in made %}
        {% if c.means == "payload" %}{{ of.declared(c) }}{% else %}{{ c.quoted }}{% endif %}
{%- if c.means == "payload" %}
{%- elif c.means == "key" %} {{ c.type }}{{ " IDENTITY(1, 1)" if c.numbered }} NOT NULL{{ " DEFAULT NEWID()" if c.drawn }}{{ " DEFAULT SYSUTCDATETIME()" if c.stamped }}
{%- elif c.means == "state" %} {{ c.type }} {{ "NULL" if c.nullable else "NOT NULL" }}{{ " DEFAULT " ~ c.initial if c.initial != "NULL" }}
{%- elif c.means == "kind" %} nvarchar(60) NOT NULL DEFAULT {{ text(types[0]) }}
{%- elif c.means == "enqueued" %} datetime2(7) NOT NULL DEFAULT {{ at_once }}
{%- elif c.means in ["due", "started", "finished", "lease_until", "token"] %} datetime2(7) NULL
{%- elif c.means == "duration" %} bigint NULL
{%- elif c.means == "attempts" %} int NOT NULL DEFAULT 0
{%- elif c.means == "owner" %} nvarchar(128) NULL
{%- elif c.means == "step" %} nvarchar(60) NULL
{%- else %} nvarchar(max) NULL
{%- endif %},
{%- endfor %}
{{- of.constraints(t.columns) }}
{%- if dedup and not dedup.unfinished_only and not (t.work | selectattr("nullable") | list) %}
        CONSTRAINT [UQ_{{ queue }}_Work] UNIQUE NONCLUSTERED ({{ dedup.columns | join(", ") }}),
{%- endif %}
        CONSTRAINT [PK_{{ queue }}] PRIMARY KEY CLUSTERED ({{ t.key | map(attribute="quoted") | join(", ") }})
    );
{% endfilter %}
{%- endif %}
{%- if not index.name %}
{% call index_of.create("IX_" ~ queue ~ "_Due", place, due_index, include=[due_include] if due_include else [], online=true) %}
/*
The claim seeks here: first the value that all pending items share, then the order. It has no filter, since another writer to the
table may have settings that an index with a filter does not bear (error 1934).
*/
{%- endcall %}
{%- endif %}
{%- for search in kind_searches %}
{% call index_of.create(
    "IX_" ~ queue ~ "_" ~ search.stem ~ "Due", place, search.columns + due_index,
    include=[due_include] if due_include else [], online=true
) %}
/* The same for a claim that names the kinds it wants. */
{%- endcall %}
{%- endfor %}
{%- if (t.foreign or not beside) and (not in_flight_is_due or not beside) %}
{% call index_of.create("IX_" ~ queue ~ "_InFlight", place, in_flight_index, online=true) %}
/* Items that were taken and left are found here, oldest first. */
{%- endcall %}
{%- endif %}
{%- if sought %}
{%- set ordered = limited_index | map(attribute="quoted") | list %}
{% call index_of.create(
    "IX_" ~ queue ~ "_Limited", place, limited_index, include=([due_include] if due_include else []) + (filters | map(attribute="indexed") | rejectattr("quoted", "in", ordered) | list),
    online=true
) %}
/* The claim seeks here what waits for each key that has room. */
{%- endcall %}
{%- endif %}
{%- for l in limits if l.by and not beside %}
{% call index_of.create("IX_" ~ queue ~ "_InWork" ~ l.nth, place, in_work_indexes[l.nth - 1], include=[l.weight.indexed] if l.weight else [], online=true) %}
/* The claim counts here what is in work for a key. */
{%- endcall %}
{%- endfor %}
{%- if t.shows_errors and not errors_are_due %}
{% call index_of.create("IX_" ~ queue ~ "_Error", place, error_index, online=true) %}
/* Retries that wait, of which some may have been left by somebody else: recovery finds those here. */
{%- endcall %}
{%- endif %}
{%- if group %}
{% call index_of.create("IX_" ~ queue ~ "_Group", place, group_index, online=true) %}
/* Whether an earlier item of the same group is unfinished. */
{%- endcall %}
{%- endif %}
{%- if dedup %}
{%- set name = "IX_" ~ queue ~ "_Work" %}
{% filter made("INDEX", name, on=place, columns=indexed.same, optional=true) %}
/* The same work is found by an index: one of the table's own that begins with its columns, or else this one. */
IF NOT EXISTS (
    SELECT i.[index_id]
    FROM sys.indexes AS i
    INNER JOIN sys.index_columns AS x ON x.[object_id] = i.[object_id] AND x.[index_id] = i.[index_id]
    INNER JOIN sys.columns AS c ON c.[object_id] = x.[object_id] AND c.[column_id] = x.[column_id]
    WHERE
        i.[object_id] = OBJECT_ID({{ text(table) }})
        AND i.[has_filter] = 0
        AND x.[key_ordinal] BETWEEN 1 AND {{ dedup.columns | length }}
        AND QUOTENAME(c.[name]) IN ({% for column in dedup.columns %}{{ text(column) }}{{ ", " if not loop.last }}{% endfor %})
    GROUP BY i.[index_id]
    HAVING COUNT(*) = {{ dedup.columns | length }}
)
{{ index_of.edition("CREATE NONCLUSTERED INDEX [" ~ name ~ "] ON " ~ table ~ " (" ~ index_of.listed(indexed.same) ~ ")") }}
{% endfilter %}
{%- endif %}
{%- if completion == "history" %}
{% filter made("TABLE", history_place, theirs=true) %}
/* Completed items move here. The join keeps an identity from being one here too. */
IF OBJECT_ID({{ text(t.history) }}, N'U') IS NULL
    SELECT TOP (0) q.*
    INTO {{ t.history }}
    FROM {{ table }} AS q
    CROSS JOIN (SELECT 1 AS [One]) AS o;
{% endfilter %}
{% filter made("VIEW", [queue ~ "_Row_V", queue ~ "_History_V"], once=true) %}
/*
Columns that go to the history: all that both tables had at the install, but for those of the history that the
server fills itself. Written once for each, so that a column that is added later ends no move; it goes along after the next install.
*/
DECLARE @_Columns nvarchar(max);
DECLARE @_Column int = 0;
WHILE @_Column IS NOT NULL
BEGIN
    SET @_Column = (
        SELECT MIN(c.[column_id])
        FROM sys.columns AS c
        INNER JOIN sys.columns AS h
            ON h.[object_id] = OBJECT_ID({{ text(t.history) }}) AND h.[name] = c.[name]
        WHERE
            c.[object_id] = OBJECT_ID({{ text(table) }})
            AND c.[column_id] > @_Column AND h.[is_computed] = 0 AND TYPE_NAME(h.[system_type_id]) <> N'timestamp'
    );
    IF @_Column IS NOT NULL
        SET @_Columns = CONCAT(
            @_Columns + N', ', QUOTENAME(COL_NAME(OBJECT_ID({{ text(table) }}), @_Column))
        );
END;
DECLARE @_Row nvarchar(max) = CONCAT(
    N'CREATE VIEW {{ object(queue ~ "_Row_V") | replace("'", "''") }} AS SELECT ', @_Columns, N' FROM {{ table | replace("'", "''") }};'
);
DECLARE @_History nvarchar(max) = CONCAT(
    N'CREATE VIEW {{ object(queue ~ "_History_V") | replace("'", "''") }} AS SELECT ', @_Columns, N' FROM {{ t.history | replace("'", "''") }};'
);
DROP VIEW IF EXISTS {{ object(queue ~ "_Row_V") }};
DROP VIEW IF EXISTS {{ object(queue ~ "_History_V") }};
EXECUTE (@_Row);
EXECUTE (@_History);
{% endfilter %}
{%- endif %}
{%- if role.error %}
{% filter statement %}
/*
As much of an error as its column takes. Asked here, since who calls the procedures may have no right to see the column.
*/
DELETE FROM {{ object("AppSettings") }} WHERE [Param] = '{{ setting }}.errorChars';
{% endfilter %}
{% filter statement %}
INSERT INTO {{ object("AppSettings") }} ([Param], [ValInt])
SELECT
    '{{ setting }}.errorChars',
    CASE WHEN TYPE_NAME(c.[system_type_id]) IN (N'nvarchar', N'nchar') THEN c.[max_length] / 2 ELSE c.[max_length] END
FROM sys.columns AS c
WHERE
    c.[object_id] = OBJECT_ID({{ text(table) }})
    AND QUOTENAME(c.[name]) = {{ text(role.error) }}
    AND TYPE_NAME(c.[system_type_id]) IN (N'nvarchar', N'nchar', N'varchar', N'char') AND c.[max_length] > 0;
{% endfilter %}
{%- endif %}
