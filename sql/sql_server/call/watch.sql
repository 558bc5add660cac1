{CALL {{ object("Watch_" ~ queue) }} (?)}
