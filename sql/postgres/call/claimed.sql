SELECT r.* FROM {{ object("claimed_" ~ queue) }}(?::text, ?::bigint) AS r
