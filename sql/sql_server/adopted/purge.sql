{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Purge_" ~ queue ~ "_trx" -%}
{%- set offset = "@Offset" -%}
/*
Delete up to @Max finished items that fit @Filter, in the order of their keys, and as many rows of {{ queue }}_Lease
whose items are gone. @Filter is that of Find_{{ queue }}; without a status it means Completed, PartiallyCompleted,
Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to see to them;
unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL,
    @Max int = 1000
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
{% include "adopted/_clock_variables.sql" %}
    DECLARE @Purged int = 0;
    DECLARE @Found TABLE (
{{- n.declared(key) }}
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
    DECLARE @Locked TABLE (
{{- n.declared(key) }}
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
{% include "adopted/_filter.sql" %}

{% include "relational/_no_transaction.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    IF @Statuses IS NULL
        DELETE FROM @Wanted WHERE [Status] = 'Failed' OR {{ object("QueueIsFinished_fn") }}([Status]) = 0;
    IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE {{ object("QueueIsFinished_fn") }}(w.[Status]) = 0)
        THROW 50021, N'{{ procedure }}: only finished items can be purged; cancel or terminate others first.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "adopted/_clock.sql" %}

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        INSERT INTO @Found ({{ n.names(key) }})
        SELECT TOP (@Max) {{ n.list(key, "q") }}
        FROM {{ table }} AS q WITH (READPAST, READCOMMITTEDLOCK)
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "q") }}
        WHERE
            (@Keys IS NULL OR EXISTS (SELECT 1 FROM @Key AS k WHERE {{ n.same(key, "k", "q") }}))
            AND {% filter indent(4) %}{% include "adopted/_fits.sql" %}{% endfilter %}
        ORDER BY {{ n.list(key, "q") }};

        INSERT INTO @Locked ({{ n.names(key) }})
        SELECT {{ n.list(key, "q") }}
        FROM @Found AS f
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {{ n.found(key, seek, "f") }}
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "q") }}
        WHERE
            {% filter indent(4) %}{% include "adopted/_fits.sql" %}{% endfilter %}
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @Locked AS l
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "l") }}
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Purged = @@ROWCOUNT;

        DELETE s
        FROM @Locked AS l
        INNER JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "l") }}
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE FROM @Found;
        INSERT INTO @Found ({{ n.names(key) }})
        SELECT TOP (@Max) {{ n.list(key, "s") }}
        FROM {{ object(queue ~ "_Lease") }} AS s WITH (READPAST, READCOMMITTEDLOCK)
        WHERE
            s.[UpdatedAt] < DATEADD(MINUTE, -10, @Now)
            AND NOT EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ n.found(key, seek, "s") }});
{%- if seek %}

        /* What moved to another place of the index while it was looked for can be missed, once. */
        DELETE f
        FROM @Found AS f
        WHERE EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ n.found(key, seek, "f") }});
{%- endif %}

        DELETE s
        FROM @Found AS f
        INNER JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "f") }}
        WHERE s.[UpdatedAt] < DATEADD(MINUTE, -10, @Now)
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        'purged' AS [Name],
        CAST(@Purged AS bigint) AS [Value];

    RETURN 0;
END;
GO
