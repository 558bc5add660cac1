/*
The nodes of Citus that have data, as places: each by a name that it keeps, and how its connection differs.
*/
SELECT 'node' || n.nodeid AS name, 'Server=' || n.nodename || ';Port=' || n.nodeport AS differs
FROM pg_catalog.pg_dist_node AS n
WHERE n.isactive AND n.noderole = 'primary' AND n.shouldhaveshards
