SELECT r.* FROM {{ object("find_" ~ queue) }}(?::json, ?::text, ?::integer, ?::integer) AS r
