{CALL {{ object("Progress_" ~ queue) }} (?)}
