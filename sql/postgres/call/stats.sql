SELECT * FROM {{ object("stats_" ~ queue) }}()
