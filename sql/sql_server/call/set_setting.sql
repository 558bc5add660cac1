DECLARE @Param varchar(100) = ?;
DECLARE @Value int = ?;
INSERT INTO {{ object("AppSettings") }} ([Param])
SELECT @Param
WHERE NOT EXISTS (
    SELECT 1
    FROM {{ object("AppSettings") }} AS a WITH (UPDLOCK, SERIALIZABLE)
    WHERE a.[Param] = @Param
);
UPDATE {{ object("AppSettings") }}
SET [ValInt] = @Value
WHERE [Param] = @Param;
