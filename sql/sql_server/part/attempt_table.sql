{% filter made("TABLE", queue ~ "_Attempt") %}
/*
The outcome of each attempt at an item: the first error is there when the last one stands in the item. A row goes with its
item; what was released was not begun, and has none. Times are UTC.
*/
IF OBJECT_ID({{ literal(queue ~ "_Attempt") }}, N'U') IS NULL
    CREATE TABLE {{ t.attempt }} (
{%- for k in t.key %}
        {{ k.attempted }} {{ k.type }}{{ k.collate }} NOT NULL,
{%- endfor %}
        [Number] bigint IDENTITY(1, 1) NOT NULL, /* in the order in which they ended */
        [AttemptNum] int NOT NULL, [Worker] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [StartedAt] datetime2(7) NULL, [EndedAt] datetime2(7) NOT NULL,
        [Outcome] varchar(20) NOT NULL, /* the state that the item had then */
        [Step] nvarchar(60) NULL, [Response] nvarchar(max) NULL, [Error] nvarchar(max) NULL,
        CONSTRAINT [PK_{{ queue }}_Attempt] PRIMARY KEY CLUSTERED ({{ item.attempt_names(t) }}, [Number])
    );
{% endfilter %}
{% filter statement %}
/* Many rows locked by one statement must never become the whole table: each belongs to who holds its item. */
IF EXISTS (
    SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = OBJECT_ID({{ literal(queue ~ "_Attempt") }}) AND t.[lock_escalation] <> 1
)
    ALTER TABLE {{ t.attempt }} SET (LOCK_ESCALATION = DISABLE);
{% endfilter %}
{%- if attempt_retention %}
{% call index_of.create("IX_" ~ queue ~ "_Attempt_Ended", queue ~ "_Attempt", [column("EndedAt")]) %}
/* Attempts that are old enough to be forgotten. */
{%- endcall %}
{%- endif %}
