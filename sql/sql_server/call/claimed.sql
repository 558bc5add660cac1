{CALL {{ object("Claimed_" ~ queue) }} (?, ?)}
