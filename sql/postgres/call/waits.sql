SELECT r.* FROM {{ object("waits_" ~ queue) }}(?::text) AS r
