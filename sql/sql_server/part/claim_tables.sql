    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
    DECLARE @_Take int, @_Alone int;
    DECLARE @_Paused int = 0; /* 1: some types are paused, 2: the queue is */
{%- if role.kind %}
    DECLARE @_PausedType TABLE ([Type] nvarchar(60) NOT NULL PRIMARY KEY);
{%- endif %}
{%- if shards %}
    DECLARE @_ShardTurn bigint, @_Shard int;
    DECLARE @_Asked int = 0; /* shards so far */
{%- endif %}
{%- if limits %}
    DECLARE @_FreeAt datetime2(7); /* when time makes room for the next one */
{%- if limits | selectattr("rate") | list %}
    DECLARE @_Starts nvarchar(max);
{%- endif %}
{%- endif %}
{%- if sought %}
    DECLARE @_AtKey {{ sought.type }}, @_Open int, @_Share int, @_KeysText nvarchar(max);
    /* The keys of limit Nth with their room; those with a turn are taken in it, NULL for items without a key, which are not limited. */
    DECLARE @_Keys TABLE ([Nth] int NOT NULL, [Turn] int NULL, [Key] nvarchar(300) NULL, [Room] int NOT NULL{{ ", [AtOnce] int NULL, [Left] int NULL" if weighted }});
{%- endif %}
{%- if kind_searches or sought %}
    DECLARE @_Turn int = 1;
{%- endif %}
{%- if kind_searches or sought %}
    DECLARE @_Took int;
{%- endif %}
{%- if kind_searches %}
{%- if asks_types %}
    DECLARE @_KindType nvarchar(60);
{%- endif %}
{%- if asks_steps %}
    DECLARE @_KindStep nvarchar(60);
{%- endif %}
    /* The kinds that are asked for; a step that is NULL is that of the items that have none. */
    DECLARE @_Wanted TABLE (
        [Kind] int IDENTITY(1, 1) NOT NULL PRIMARY KEY{{ ",\n        [Type] nvarchar(60) NULL" if asks_types }}{{ ",\n        [Step] nvarchar(60) NULL" if asks_steps }}
    );
    /* How many of which kind are taken, one after the other. */
    DECLARE @_Turns TABLE ([Turn] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Kind] int NOT NULL, [Most] int NOT NULL);
{%- endif %}
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
{{- item.declared(t) }}
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Refused] nvarchar(500) NULL, /* why the table refused it until its attempts were spent */
{%- if expires %}
        [Expired] datetime2(7) NULL, /* when it was too late to begin it */
{%- endif %}
{%- if kind_searches or sought %}
        [Place] int NULL, /* in the order of all, where they came kind by kind */
{%- endif %}
{%- if t.witness %}
        [Row] bigint NULL,
{%- endif %}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
{%- if kind_searches or sought %}
    DECLARE @_Placed TABLE (
{{- item.declared(t) }}
        [Place] int IDENTITY(1, 1) NOT NULL PRIMARY KEY
    );
{%- endif %}
