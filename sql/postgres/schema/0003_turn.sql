{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
/*
A row for each queue with groups. Claims of such a queue take turns: each locks the row to the end of its transaction.
Nothing is ever written to it, and only the functions can lock it, hence nobody who may not claim: an advisory lock could
be taken, and kept, by any login.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_turn") }} (
    queue text NOT NULL PRIMARY KEY
);
GO
