/* The roles that may use a schema and are nobody's login. */
SELECT DISTINCT r.rolname::text AS name
FROM pg_catalog.pg_namespace AS n
CROSS JOIN LATERAL ACLEXPLODE(n.nspacl) AS a
INNER JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
WHERE n.nspname = ?::text AND a.privilege_type = 'USAGE' AND NOT r.rolcanlogin
ORDER BY name
