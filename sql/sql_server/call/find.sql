{CALL {{ object("Find_" ~ queue) }} (?, ?, ?, ?)}
