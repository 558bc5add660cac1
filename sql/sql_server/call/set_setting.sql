DECLARE @Param varchar(100) = ?;
DECLARE @Value int = ?;
INSERT INTO {{ settings_of.table }} ({{ settings_of.param }})
SELECT @Param
WHERE NOT EXISTS (
    SELECT 1
    FROM {{ settings_of.table }} AS a WITH (UPDLOCK, SERIALIZABLE)
    WHERE a.{{ settings_of.param }} = @Param
);
UPDATE {{ settings_of.table }}
SET {{ settings_of.value }} = @Value
WHERE {{ settings_of.param }} = @Param;
