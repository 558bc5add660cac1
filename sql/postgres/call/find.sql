SELECT * FROM {{ object("find_" ~ queue) }}(?::json, ?::text, ?::integer, ?::integer)
