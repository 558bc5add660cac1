{% import "macro/item.sql" as item -%}
{%- import "macro/write.sql" as write -%}
{%- if claimed_by_others %}
{%- set procedure = "Taken_" ~ queue ~ "_trx" -%}
{% filter made("PROCEDURE", procedure) %}
/*
An item that somebody else's procedure has claimed becomes a worker's: its attempt is counted, and {{ queue }}_Lease says
whose it is and until when. Called with the key that the procedure gave. One row: CLAIMED, with the item; CLAIMED_ALONE, when it
came back from a dead worker; EMPTY, when it is not to be worked on (its attempts are spent and it is Failed now, or it was
paused or cancelled, which the table does not tell); LEASE_LOST, when the table does not say that this worker has it.
Asked again for the same claim it gives the same answer, and counts nothing.
Table access order: {{ called.table }}, {{ queue }}_Lease{{ ", " ~ queue ~ "_Attempt" if attempt_history }}.
*/
{{ create_or_alter }} PROCEDURE {{ object(procedure) }}
    @Worker nvarchar(128),
    @Key nvarchar(4000){{ " /* a JSON array, with a value for each column of the key */" if composite }}
AS
BEGIN
{% include "part/head.sql" %}
{% include "part/settings_variables.sql" %}
{% include "part/clock_variables.sql" %}
    DECLARE @_Is varchar(20);
    DECLARE @_Was varchar(20); /* as the last claim, or what came of it, is kept beside the table */
    DECLARE @_Attempt int;
    DECLARE @_Before int; /* the attempt that this claim follows */
    DECLARE @_Again bit = 0; /* the answer to this very claim was lost */
    DECLARE @_Alone bit = 0, @_Began datetime2(7);
{%- if attempt_history %}
    DECLARE @_Owner nvarchar(128), @_OwnerBegan datetime2(7), @_Step nvarchar(60);
{%- endif %}
    DECLARE @_Asked TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
{{- item.declared(t, "NULL") | trim(",") }}
    );
{% include "part/change_table.sql" %}
{% include "part/out_table.sql" %}

{% include "part/no_transaction.sql" %}

{% include "part/settings.sql" %}

    INSERT INTO @_Asked ([Ordinal], {{ item.names(t) }})
    SELECT 0,
{{- item.reads_text(t, "@Key") | trim(",") }};

    BEGIN TRY
        BEGIN TRANSACTION;
{%- filter indent(4) %}{% include "part/clock.sql" %}{% endfilter %}

        /* Locked first, and decided upon by what it is then. */
        SELECT
            @_Is = {{ item.status(t) }},
            @_Was = s.[Status],
            @_Began = {{ item.utc(t, "q." ~ role.started) }},
            @_Before = CASE WHEN {{ item.finished("s.[Status]") }} THEN 0 ELSE COALESCE(s.[AttemptNum], 0) END,
            @_Attempt = {{ "COALESCE(CAST(q." ~ role.attempts ~ " AS int), 0)" if role.attempts else "0" }},
            @_Again = CASE
                WHEN
                    s.[Status] = 'Processing' AND s.[LeaseOwner] = @Worker
                    AND s.[StartedAt] = {{ item.utc(t, "q." ~ role.started) }}
                    THEN 1
                ELSE 0
            END,
            /* A lease that is over, on an item that waited, and one that another claim has broken. */
            @_Alone = CASE
                WHEN s.[Status] = 'Processing' THEN 1
                WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1
                ELSE 0
            END{% if attempt_history %},
            @_Owner = s.[LeaseOwner], @_OwnerBegan = s.[StartedAt],
            @_Step = {{ item.step(t) }}{% endif %}
        FROM @_Asked AS c
        INNER JOIN {{ table }} AS q WITH (UPDLOCK, ROWLOCK)
            ON {{ item.found(t, "c") }}
        LEFT JOIN {{ t.lease }} AS s WITH (UPDLOCK, ROWLOCK)
            ON {{ item.kept_for(t, "c") }}
        WHERE
            {{ item.stands(processing) }}
            AND {{ item.owner(t) }} = @Worker
        OPTION (LOOP JOIN, FORCE ORDER);
{%- if role.attempts %}

        IF @_Is IS NOT NULL AND @_Attempt < 1
            THROW 50014, N'{{ procedure }}: the claim has not counted the attempt in {{ role.attempts | replace("'", "''") | replace("%", "%%") }}: let it, or leave table.lifecycle.attempts out of the description, and readpast counts.', 1;
{%- else %}
        SET @_Attempt = CASE
            WHEN @_Again = 1 OR @_Before >= @_MaxAttempts THEN @_Before
            ELSE @_Before + 1
        END;
{%- endif %}

        IF @_Is IN ('Processing', 'Error')
        BEGIN
            INSERT INTO @_Change (
                {{ item.names(t) }}, [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [LeaseOwner], [LeaseUntil], [Before]
            )
            SELECT
                {{ item.list(t, "c") }},
                'Processing',
                CASE WHEN x.[Spent] = 1 THEN 'Failed' ELSE 'Processing' END,
                @_Attempt{% if role.attempts %} - x.[Spent]{% endif %},
                {{ item.later(t, item.token(t)) }},
                {{ item.step(t) }},
                {{ item.response(t) }},
                CASE
                    WHEN x.[Spent] = 1
                        THEN CONCAT(N'Attempts are spent: ', @_Attempt{% if role.attempts %} - 1{% endif %}, N' of ', @_MaxAttempts, N'.')
                    ELSE {{ item.error(t) }}
                END,
                @_Began,
                CASE WHEN x.[Spent] = 1 THEN @_Now END,
                CASE WHEN x.[Spent] = 0 THEN @Worker END,
                CASE WHEN x.[Spent] = 0 THEN DATEADD(MILLISECOND, @_SilentMs, @_Began) END,
                s.[UpdatedAt]
            FROM @_Asked AS c
            INNER JOIN {{ table }} AS q
                ON {{ item.found(t, "c") }}
            LEFT JOIN {{ t.lease }} AS s
                ON {{ item.kept_for(t, "c") }}
            CROSS APPLY (
                SELECT CASE WHEN @_Again = 0 AND {{ "@_Attempt > @_MaxAttempts" if role.attempts else "@_Before >= @_MaxAttempts" }} THEN 1 ELSE 0 END AS [Spent]
            ) AS x
            OPTION (LOOP JOIN, FORCE ORDER);
{%- import "macro/apply.sql" as change %}
{{ change.apply(guard=processing) | indent(4, true) }}
{%- if attempt_history %}

            IF @_Was = 'Processing' AND @_Again = 0
                INSERT INTO {{ t.attempt }} (
                    {{ item.attempt_names(t) }}, [AttemptNum], [Worker], [StartedAt], [EndedAt], [Outcome], [Step], [Error]
                )
                SELECT
                    {{ item.list(t, "w") }},
                    @_Before,
                    @_Owner,
                    @_OwnerBegan,
                    @_Now,
                    CASE WHEN w.[Status] = 'Failed' THEN 'Failed' ELSE 'Error' END,
                    @_Step,
                    CONCAT(N'The lock of worker ', @_Owner, N' was broken by worker ', @Worker, N'; the worker is taken for dead.')
                FROM @_Change AS w;
{%- endif %}
        END;

        COMMIT TRANSACTION{{ " WITH (DELAYED_DURABILITY = ON)" if not durable }};
    END TRY
{% include "part/rollback.sql" %}

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], {{ item.names(t) }}, [Token], [AttemptNum], [Status])
    SELECT
        1,
        CASE WHEN @_Alone = 1 AND @_Again = 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        @_SilentMs,
        {{ item.as_text(t, "w") }},
        {{ item.list(t, "w") }},
        w.[Token],
        w.[AttemptNum],
        w.[Status]
    FROM @_Change AS w
    WHERE w.[Status] = 'Processing';

    IF @@ROWCOUNT = 0
        INSERT INTO @_Out ([Seq], [Answer], [Status])
        SELECT
            1,
            CASE WHEN @_Is IS NULL THEN 'LEASE_LOST' ELSE 'EMPTY' END,
            @_Is;

{% include "part/items_select.sql" %}
END;
{% endfilter %}
{%- endif %}
