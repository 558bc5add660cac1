SELECT r.* FROM {{ object("attempts_" ~ queue) }}(?::text, ?::integer) AS r
