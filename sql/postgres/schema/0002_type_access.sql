{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
/*
Which logins see which types, of queues whose description says own_types_only. user_name is a role, that of the login or
one it is a member of; the type * is every type.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_type_access") }} (
    queue text NOT NULL,
    type text NOT NULL,
    user_name text NOT NULL,
    PRIMARY KEY (queue, user_name, type)
);
GO
