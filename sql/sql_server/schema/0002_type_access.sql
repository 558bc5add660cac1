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
/*
The types that the caller may see, by queue: the user it is in this database, and the roles that user is in. Procedures
and views read this with the rights of their owner, and USER_NAME() is the caller all the same.
*/
CREATE VIEW {{ object("QueueOwnType_V") }}
AS
SELECT
    a.[Queue],
    a.[Type]
FROM {{ object("QueueTypeAccess") }} AS a
WHERE
    a.[UserName] = USER_NAME()
    OR IS_ROLEMEMBER(a.[UserName]) = 1;
GO
