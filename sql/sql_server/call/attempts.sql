{CALL {{ object("Attempts_" ~ queue) }} (?, ?)}
