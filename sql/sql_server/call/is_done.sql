{CALL {{ object("QueueIsDone") }} (?)}
