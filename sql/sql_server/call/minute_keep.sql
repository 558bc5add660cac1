{CALL {{ object("QueueMinuteKeep") }} (?)}
