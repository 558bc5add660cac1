{CALL {{ object("QueueCatalog") }}}
