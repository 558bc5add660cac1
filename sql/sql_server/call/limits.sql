{CALL {{ object("Limits_" ~ queue) }}}
