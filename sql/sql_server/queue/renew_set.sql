{% import "macro/item.sql" as item -%}
{%- import "macro/take.sql" as take -%}
{%- set procedure = "Renew_" ~ queue ~ "_Set_trx" -%}
{% filter made("PROCEDURE", procedure) %}
/*
{%- if lease_sliding %}
Extend the leases of a worker's items, counted from now on the server's clock.
{%- else %}
Say which items are still a worker's. Leases are fixed: none is extended.
{%- endif %}
@Items is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. OK without a status is
an item whose row somebody holds: its lease is as it was.
{%- if not beside %}
Neither the token nor an indexed column changes, so a renewal never makes the worker's own settle fail.
{%- elif not role.lease_until %}
Rows of the table "{{ called.table }}" are read and not locked: it has no part in a renewal.
{%- endif %}
Table access order: {{ called.table }}{{ ", " ~ queue ~ "_Lease" if beside }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128), @Items nvarchar(max), @LeaseMs int = NULL
AS
BEGIN
{% include "part/head.sql" %}
{%- if lease_sliding %}
{% include "part/clock_variables.sql" %}
{%- endif %}
    DECLARE @_Count int;
{% include "part/limit.sql" %}
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] {{ item.key_type(t) }} NULL,
{{- item.declared(t, "NULL") }}
        [Attempt] int NULL,
        UNIQUE CLUSTERED ({{ item.names(t) }}, [Ordinal])
    );
{%- if beside %}
    /* The items as the table has them. */
    DECLARE @_Seen TABLE (
{{- item.declared(t) }}
        [InFlight] bit NOT NULL, [AttemptNum] int NULL, [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [Token] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
{%- endif %}
{% include "part/out_table.sql" %}

{% include "part/no_transaction.sql" %}
{{- take.names(procedure, takes.renew) }}

    SET @LeaseMs = COALESCE(@LeaseMs, (SELECT s.[LeaseMs] FROM {{ object(queue ~ "_Setting_V") }} AS s));
    IF @LeaseMs < 1
        THROW 50021, N'{{ procedure }}: @LeaseMs must be at least 1.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], {{ item.names(t) }}, [Attempt])
    SELECT
        CAST(j.[key] AS int),
        {{ "JSON_QUERY(j.[value], '$.key')" if composite else "r." ~ t.key[0].var }},
{{- item.reads(t, "r") }}
        r.[Attempt]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{{- item.asked(t) }}
        [Attempt] int '$.attempt'
    ) AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;
{%- if beside %}

        INSERT INTO @_Seen ({{ item.names(t) }}, [InFlight], [AttemptNum], [LeaseOwner], [Token])
        SELECT
            {{ item.list(t, "i") }},
            r.[InFlight], r.[AttemptNum], r.[LeaseOwner], r.[Token]
        FROM (SELECT DISTINCT TOP (@_Count) {{ item.list(t, "d") }} FROM @_Item AS d ORDER BY {{ item.list(t, "d") }}) AS i
{%- if seek %}
        /* The first only: what moves to another place of the index while it is looked for could be found twice. */
{%- endif %}
        CROSS APPLY (
            SELECT{{ " TOP (1)" if seek }}
                CASE WHEN {{ item.stands(processing) }} THEN 1 ELSE 0 END AS [InFlight],
                {{ item.attempts(t) if role.attempts else "CAST(NULL AS int)" }} AS [AttemptNum],
                {{ item.owner(t) if role.owner else "CAST(NULL AS nvarchar(128))" }} AS [LeaseOwner],
                {{ "q." ~ role.token if role.token else "CAST(NULL AS datetime2(7))" }} AS [Token]
            FROM {{ table }} AS q WITH ({{ "UPDLOCK, " if role.lease_until }}ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE
                {{ item.found(t, "i") }}
{%- if own_types_only %}
                AND {% filter indent(16) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
        ) AS r
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], {{ item.names(t) }}, [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN e.[InFlight] IS NULL THEN 'NOT_FOUND'
                WHEN
                    e.[InFlight] = 1 AND s.[Status] = 'Processing'
                    AND {{ "e" if role.owner else "s" }}.[LeaseOwner] = @Worker
                    AND {{ "e" if role.attempts else "s" }}.[AttemptNum] = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal], i.[Key],
            {{ item.list(t, "i") }},
            {{ "e.[Token]" if role.token else "s.[UpdatedAt]" }},
            {{ "e" if role.attempts else "s" }}.[AttemptNum],
            s.[Status]
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY {{ item.list(t, "o") }}, o.[Ordinal]) AS i
        LEFT JOIN @_Seen AS e
            ON {{ item.same(t, "e", "i") }}
        LEFT JOIN {{ t.lease }} AS s WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {{ item.kept_for(t, "e") }}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- else %}

        INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], {{ item.names(t) }}, [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN q.{{ key[0].quoted }} IS NULL THEN 'NOT_FOUND'
                WHEN
                    {{ item.stands(processing) }}
                    AND {{ item.owner(t) }} = @Worker
                    AND {{ item.attempts(t) }} = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal], i.[Key],
            {{ item.list(t, "i") }},
            {{ item.token(t) }},
            {{ item.attempts(t) }},
            {{ item.status(t) }}
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY {{ item.list(t, "o") }}, o.[Ordinal]) AS i
        LEFT JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON {{ item.found(t, "i") }}
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
{%- endif %}
{%- macro is_there(hints) %}
        UPDATE o
        SET [Answer] = 'OK'
        FROM @_Out AS o
        INNER JOIN {{ table }} AS q{{ " WITH (" ~ hints ~ ")" if hints }}
            ON {{ item.found(t, "o") }}
{%- if beside %}
        INNER JOIN {{ t.lease }} AS s{{ " WITH (" ~ hints ~ ")" if hints }}
            ON {{ item.kept_for(t, "o") }}
{%- endif %}
        WHERE
            o.[Status] IS NULL
{%- if own_types_only %}
            AND {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif %}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endmacro %}
{%- if lease_sliding %}

{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}
{%- if role.lease_until %}

        UPDATE q
        SET {{ role.lease_until }} = DATEADD(MILLISECOND, @LeaseMs, {{ at }})
        FROM @_Out AS o
        INNER JOIN {{ table }} AS q WITH (ROWLOCK)
            ON {{ item.found(t, "o") }}
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- if beside %}

        UPDATE s
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @_Now)
        FROM @_Out AS o
        INNER JOIN {{ t.lease }} AS s WITH (ROWLOCK)
            ON {{ item.kept_for(t, "o") }}
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}
{%- endif %}

        COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};

        /*
        A row that somebody holds was passed over, or one long transaction would have the leases of all others run out. A look
        without locks finds it: its holder settles it or takes it away, and its lease stays as it is. One that it does not find is
        deleted; until that is committed, the last look waits (it sees the version before where readers do not wait for writers), with
        all that could be renewed behind it.
        */
{{- is_there("READUNCOMMITTED") }}
        IF EXISTS (SELECT 1 FROM @_Out AS o WHERE o.[Answer] <> 'OK' AND o.[Status] IS NULL)
{%- filter indent(4) %}
{{- is_there("") }}
{%- endfilter %}
    END TRY
{% include "part/rollback.sql" %}

{% include "part/answers_select.sql" %}
END;
{% endfilter %}
