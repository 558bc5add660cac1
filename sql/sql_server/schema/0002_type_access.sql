{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
/*
Which logins see which types, of queues whose description says own_types_only. UserName is a user or a role of the
database; the type * is every type.
*/
IF OBJECT_ID({{ literal("QueueTypeAccess") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueTypeAccess") }} (
        [Queue] varchar(40) NOT NULL,
        [Type] {{ object("_Type") }} NOT NULL,
        [UserName] sysname NOT NULL,
        CONSTRAINT [PK_QueueTypeAccess] PRIMARY KEY CLUSTERED ([Queue], [UserName], [Type])
    );
GO
