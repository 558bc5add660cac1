{% import "adopted/_names.sql" as n -%}
{%- set procedure = "Renew_" ~ queue ~ "_Set_trx" -%}
/*
{%- if lease_sliding %}
Extend the leases of a worker's items, counted from now on the server's clock.
{%- else %}
Say which items are still a worker's. Leases are fixed: none is extended.
{%- endif %}
@Items is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each.
{%- if not role.lease_until %}
{{ called.table }} is read and not locked: it has no part in a renewal.
{%- endif %}
Table access order: {{ called.table }}, {{ queue }}_Lease.
*/
CREATE OR ALTER PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @LeaseMs int = NULL
AS
BEGIN
{% include "relational/_procedure_head.sql" %}
    DECLARE @MaxAttempts int;
{% include "adopted/_clock_variables.sql" %}
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] nvarchar(max) NULL,
{{- n.declared(key, "NULL") }}
        [Attempt] int NULL,
        UNIQUE CLUSTERED ({{ n.names(key) }}, [Ordinal])
    );
    /* What the table says of them. */
    DECLARE @Seen TABLE (
{{- n.declared(key) }}
        [InFlight] bit NOT NULL,
        [AttemptNum] int NULL,
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [Token] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ({{ n.names(key) }})
    );
{% include "adopted/_out_table.sql" %}

{% include "relational/_no_transaction.sql" %}

{% include "relational/_settings.sql" %}

    IF @LeaseMs < 1
        THROW 50021, N'{{ procedure }}: @LeaseMs must be at least 1.', 1;

    INSERT INTO @Item ([Ordinal], [Key], {{ n.names(key) }}, [Attempt])
    SELECT
        CAST(j.[key] AS int),
        r.[Key],
{{- n.reads(key, "r.[Key]") }}
        r.[Attempt]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key] nvarchar(max) '$.key'{{ " AS JSON" if composite }},
        [Attempt] int '$.attempt'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @Seen ({{ n.names(key) }}, [InFlight], [AttemptNum], [LeaseOwner], [Token])
        SELECT
            {{ n.list(key, "i") }},
            r.[InFlight],
            r.[AttemptNum],
            r.[LeaseOwner],
            r.[Token]
        FROM (SELECT DISTINCT {{ n.list(key, "d") }} FROM @Item AS d) AS i
{%- if seek %}
        /* The first only: what moves to another place of the index while it is looked for could be found twice. */
{%- endif %}
        CROSS APPLY (
            SELECT{{ " TOP (1)" if seek }}
                CASE WHEN {{ n.stands(processing) }} THEN 1 ELSE 0 END AS [InFlight],
                {{ "COALESCE(CAST(q." ~ role.attempts ~ " AS int), 0)" if role.attempts else "CAST(NULL AS int)" }} AS [AttemptNum],
                {{ "q." ~ role.owner if role.owner else "CAST(NULL AS nvarchar(128))" }} AS [LeaseOwner],
                {{ "q." ~ role.token if role.token else "CAST(NULL AS datetime2(7))" }} AS [Token]
            FROM {{ table }} AS q{{ " WITH (UPDLOCK, ROWLOCK)" if role.lease_until }}
            WHERE
                {{ n.found(key, seek, "i") }}
{%- if own_types_only %}
                AND {% filter indent(16) %}{% include "adopted/_type_access.sql" %}{% endfilter %}
{%- endif %}
        ) AS r
        OPTION (LOOP JOIN, FORCE ORDER);

        INSERT INTO @Out (
            [Seq], [Answer], [Ordinal], [Key], {{ n.names(key) }}, [Token], [AttemptNum], [Status]
        )
        SELECT
            i.[Ordinal],
            CASE
                WHEN e.[InFlight] IS NULL THEN 'NOT_FOUND'
                WHEN
                    e.[InFlight] = 1
                    AND s.[Status] = 'Processing'
                    AND {{ "e" if role.owner else "s" }}.[LeaseOwner] = @Worker
                    AND {{ "e" if role.attempts else "s" }}.[AttemptNum] = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal],
            i.[Key],
            {{ n.list(key, "i") }},
            {{ "e.[Token]" if role.token else "s.[UpdatedAt]" }},
            {{ "e" if role.attempts else "s" }}.[AttemptNum],
            s.[Status]
        FROM @Item AS i
        LEFT JOIN @Seen AS e
            ON {{ n.same(key, "e", "i") }}
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s WITH (UPDLOCK, ROWLOCK)
            ON {{ n.same(key, "s", "e") }}
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if lease_sliding %}

{%- include "adopted/_clock.sql" %}
{%- if role.lease_until %}

        UPDATE q
        SET {{ role.lease_until }} = DATEADD(MILLISECOND, @LeaseMs, @At)
        FROM @Out AS o
        INNER JOIN {{ table }} AS q
            ON {{ n.found(key, seek, "o") }}
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

        UPDATE s
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @Now)
        FROM @Out AS o
        INNER JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "o") }}
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
{%- endif %}

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

{% include "adopted/_answers_select.sql" %}

    RETURN 0;
END;
GO
