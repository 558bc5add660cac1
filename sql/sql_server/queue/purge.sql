{% import "part/item.sql" as item -%}
{%- set procedure = "Purge_" ~ queue ~ "_trx" -%}
{%- set fits %}{% include "part/fits.sql" %}{% endset %}
{% filter made("PROCEDURE", procedure) %}
/*
Delete up to @Max finished items that fit @Filter, in the order of their keys{{ ", and as many rows of " ~ queue ~ "_Lease\nwhose items are gone" if beside }}. @Filter is that of Find_{{ queue }}; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Filter nvarchar(max) = NULL,
    @Max int = 1000
AS
BEGIN
{% include "part/head.sql" %}
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;
{% include "part/clock_variables.sql" %}
    DECLARE @_Purged int = 0;
{% include "part/purge_tables.sql" %}
{% include "part/filter.sql" %}

{% include "part/no_transaction.sql" %}

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'{{ procedure }}: @Max must be from 1 to 1000.', 1;

    IF @_Statuses IS NULL
        DELETE FROM @_Wanted WHERE [Status] = 'Failed' OR NOT ({{ item.finished("[Status]") }});
    IF EXISTS (SELECT 1 FROM @_Wanted AS w WHERE NOT ({{ item.finished("w.[Status]") }}))
        THROW 50021, N'{{ procedure }}: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- include "part/clock.sql" %}

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        IF @_Keys IS NOT NULL
            INSERT INTO @_Found ({{ item.names(t) }})
            SELECT TOP (@Max) {{ item.of_item(t) }}
            FROM @_Key AS k
            INNER JOIN {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON {{ item.found(t, "k") }}
{{- item.beside(t, " WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)") }}
            WHERE
{%- filter indent(8) %}{{ fits }}{% endfilter %}
            ORDER BY {{ item.list(t, "k") }}
            OPTION (LOOP JOIN, FORCE ORDER);
{%- for by in ["ended", "all"] if own or by == "all" %}
        ELSE{{ " IF NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] = 'Completed')" if by == "ended" }}
            INSERT INTO @_Found ({{ item.names(t) }})
            SELECT TOP (@Max) {{ item.of_item(t) }}
            FROM {{ table }} AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK{{ ", INDEX ([IX_" ~ queue ~ "_Ended])" if by == "ended" }})
{{- item.beside(t, " WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)") }}
            WHERE
{%- filter indent(8) %}{{ fits }}{% endfilter %}
{%- if by == "ended" %}
                /* They have an index of their own: what is completed is not read. */
                AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
{%- elif own %}
                /* An item that was enqueued later cannot have changed before. */
                AND (@_Before IS NULL OR q.[EnqueuedAt] < @_Before)
{%- endif %}
            ORDER BY {{ item.of_item(t) }}
            OPTION (RECOMPILE);
{%- endfor %}

{%- include "part/purge_found.sql" %}
{%- if beside %}

        /* Items that are gone from the table leave nothing behind. A look without locks waits for nobody; another makes sure. */
        DELETE FROM @_Found;
        INSERT INTO @_Found ({{ item.names(t) }})
        SELECT TOP (@Max) {{ item.of_kept(t) }}
        FROM {{ t.lease }} AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE
            s.[UpdatedAt] < DATEADD(MINUTE, -10, @_Now)
            AND NOT EXISTS (
                SELECT 1 FROM {{ table }} AS q WITH (READUNCOMMITTED)
                WHERE {% for c in t.seek %}q.{{ c.quoted }} IN ({{ c["values"] | join(", ") }}) AND {% endfor %}{{ item.kept_of(t) }}
            )
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE f
        FROM @_Found AS f
        WHERE EXISTS (SELECT 1 FROM {{ table }} AS q WHERE {{ item.found(t, "f") }})
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE s
        FROM @_Found AS f
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "f") }}
        WHERE s.[UpdatedAt] < DATEADD(MINUTE, -10, @_Now)
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

        COMMIT TRANSACTION;
    END TRY
{% include "part/rollback.sql" %}

    SELECT
        'purged' AS [Name],
        CAST(@_Purged AS bigint) AS [Value];

    RETURN 0;
END;
{% endfilter %}
