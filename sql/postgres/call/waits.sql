SELECT * FROM {{ object("waits_" ~ queue) }}(?::text)
