SELECT * FROM {{ object("watch_" ~ queue) }}(?::integer)
