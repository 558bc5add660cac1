SELECT r.* FROM {{ object("progress_" ~ queue) }}(?::json) AS r
