{CALL {{ object("Schedules_" ~ queue) }} (?)}
