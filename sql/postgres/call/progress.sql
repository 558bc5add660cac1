SELECT * FROM {{ object("progress_" ~ queue) }}(?::json)
