/*
A lock on a table of somebody else's, which may have no key: nobody else writes there until the end of the transaction, so that two who set a
setting for the first time make one row of it. A statement of its own: the next one then sees what was waited for.
*/
LOCK TABLE {{ settings_of.table }} IN SHARE ROW EXCLUSIVE MODE
