SELECT n.* FROM {{ object("claimed_" ~ queue) }}(?::text, ?::bigint) AS n
