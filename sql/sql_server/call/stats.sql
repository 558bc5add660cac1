{CALL {{ object("Stats_" ~ queue) }}}
