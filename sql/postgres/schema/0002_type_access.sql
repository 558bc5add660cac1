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
/*
The types that the caller may see, by queue: of the role that logged in, and of those it is a member of. session_user,
since functions that run with their owner's rights ask here too.
*/
CREATE OR REPLACE VIEW {{ object("queue_own_type_v") }} AS
SELECT
    a.queue,
    a.type
FROM {{ object("queue_type_access") }} AS a
LEFT JOIN pg_catalog.pg_roles AS r
    ON r.rolname = a.user_name
WHERE
    a.user_name = session_user
    OR PG_HAS_ROLE(session_user, r.oid, 'MEMBER');
GO
