{%- if create %}
{%- set at_once = "SYSDATETIME()" if local_time else "SYSUTCDATETIME()" %}
/* {{ queue }}: the items, in the shape that its description gives. */
IF OBJECT_ID({{ text(table) }}, N'U') IS NULL
    CREATE TABLE {{ table }} (
{%- for c in made %}
        {{ c.quoted }}
{%- if c.means == "key" %} {{ c.type }}{{ " IDENTITY(1, 1)" if c.numbered }} NOT NULL{{ " DEFAULT NEWID()" if c.drawn }}{{ " DEFAULT SYSUTCDATETIME()" if c.stamped }}
{%- elif c.means == "payload" %} {{ c.type }} {{ "NULL" if c.nullable else "NOT NULL" }}
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
        CONSTRAINT [PK_{{ queue }}] PRIMARY KEY CLUSTERED ({{ t.key | map(attribute="quoted") | join(", ") }})
    );
GO
{%- endif %}
{%- if not index.name %}
/*
The claim seeks here: what all pending items have in common, then the order. It has no filter, since whoever else writes
to the table may do so with settings that an index with a filter does not bear (error 1934).
*/
{{ index_of.online(text(table), table, "IX_" ~ queue ~ "_Due", index_of.listed(due_index), " INCLUDE (" ~ due_include ~ ")" if due_include else "") }}
GO
{%- endif %}
{%- for search in kind_searches %}
/* The same for a claim that names the kinds it wants. */
{{ index_of.online(text(table), table, "IX_" ~ queue ~ "_" ~ search.stem ~ "Due", search.columns | join(", ") ~ ", " ~ index_of.listed(due_index), " INCLUDE (" ~ due_include ~ ")" if due_include else "") }}
GO
{%- endfor %}
{%- if (t.foreign or not beside) and (not in_flight_is_due or not beside) %}
/* Items that were taken and left are found here, oldest first. */
{{ index_of.online(text(table), table, "IX_" ~ queue ~ "_InFlight", in_flight_index | join(", ")) }}
GO
{%- endif %}
{%- if t.shows_errors and not errors_are_due %}
/* Retries that wait, of which some may have been left by somebody else: recovery finds those here. */
{{ index_of.online(text(table), table, "IX_" ~ queue ~ "_Error", error_index | join(", ")) }}
GO
{%- endif %}
{%- if group %}
/* Whether an earlier item of the same group is unfinished. */
{{ index_of.online(text(table), table, "IX_" ~ queue ~ "_Group", index_of.listed(group_index)) }}
GO
{%- endif %}
{%- if dedup %}
/* The same work is found by an index: one of the table's own that begins with its columns, or else this one. */
IF NOT EXISTS (
    SELECT i.[index_id]
    FROM sys.indexes AS i
    INNER JOIN sys.index_columns AS x
        ON x.[object_id] = i.[object_id] AND x.[index_id] = i.[index_id]
    INNER JOIN sys.columns AS c
        ON c.[object_id] = x.[object_id] AND c.[column_id] = x.[column_id]
    WHERE
        i.[object_id] = OBJECT_ID({{ text(table) }})
        AND i.[has_filter] = 0
        AND x.[key_ordinal] BETWEEN 1 AND {{ dedup.columns | length }}
        AND QUOTENAME(c.[name]) IN ({% for column in dedup.columns %}{{ text(column) }}{{ ", " if not loop.last }}{% endfor %})
    GROUP BY i.[index_id]
    HAVING COUNT(*) = {{ dedup.columns | length }}
)
BEGIN
    IF CAST(SERVERPROPERTY('EngineEdition') AS int) IN (3, 5, 8)
        CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Work] ON {{ table }} ({{ dedup.columns | join(", ") }}) WITH (ONLINE = ON);
    ELSE
        CREATE NONCLUSTERED INDEX [IX_{{ queue }}_Work] ON {{ table }} ({{ dedup.columns | join(", ") }});
END;
GO
{%- endif %}
{%- if completion == "history" %}
/* Completed items move here. The join keeps an identity from being one here too. */
IF OBJECT_ID({{ text(t.history) }}, N'U') IS NULL
    SELECT TOP (0) q.*
    INTO {{ t.history }}
    FROM {{ table }} AS q
    CROSS JOIN (SELECT 1 AS [One]) AS o;
GO
/*
What of a row goes to the history: all columns that both tables had at the install, but for those that the server fills
itself. Written once for each, so that a column that is added later ends no move; it goes along after the next install.
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
            AND c.[column_id] > @_Column
            AND c.[is_computed] = 0
            AND TYPE_NAME(c.[system_type_id]) <> N'timestamp'
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
GO
{%- endif %}
{%- if role.error %}
/*
As much of an error as its column takes. Asked here, since who calls the procedures may have no right to see the column.
*/
DELETE FROM {{ object("AppSettings") }} WHERE [Param] = '{{ setting }}.errorChars';
GO
INSERT INTO {{ object("AppSettings") }} ([Param], [ValInt])
SELECT
    '{{ setting }}.errorChars',
    CASE WHEN TYPE_NAME(c.[system_type_id]) IN (N'nvarchar', N'nchar') THEN c.[max_length] / 2 ELSE c.[max_length] END
FROM sys.columns AS c
WHERE
    c.[object_id] = OBJECT_ID({{ text(table) }})
    AND QUOTENAME(c.[name]) = {{ text(role.error) }}
    AND TYPE_NAME(c.[system_type_id]) IN (N'nvarchar', N'nchar', N'varchar', N'char')
    AND c.[max_length] > 0;
GO
{%- endif %}
