SELECT * FROM {{ object("schedules_" ~ queue) }}(?::integer)
