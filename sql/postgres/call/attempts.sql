SELECT * FROM {{ object("attempts_" ~ queue) }}(?::text, ?::integer)
