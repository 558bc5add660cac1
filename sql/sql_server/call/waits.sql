{CALL {{ object("Waits_" ~ queue) }} (?)}
