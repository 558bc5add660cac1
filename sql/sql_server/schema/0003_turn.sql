{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
/*
A row for each queue with groups. Claims of such a queue take turns: each locks the row to the end of its transaction.
Nothing is ever written to it, and only the procedures can lock it, hence nobody who may not claim: an application lock
of the role public could be taken, and kept, by any login.
*/
IF OBJECT_ID({{ literal("QueueTurn") }}, N'U') IS NULL
    CREATE TABLE {{ object("QueueTurn") }} (
        [Queue] varchar(40) NOT NULL,
        CONSTRAINT [PK_QueueTurn] PRIMARY KEY CLUSTERED ([Queue])
    );
GO
