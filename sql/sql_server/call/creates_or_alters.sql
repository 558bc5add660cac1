/* CREATE OR ALTER came with 2016 SP1; Azure SQL (engines 5 and up) has it whatever version it reports. */
SELECT
    CASE
        WHEN CAST(SERVERPROPERTY('EngineEdition') AS int) >= 5 THEN 1
        WHEN CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), 4) AS int) > 13 THEN 1
        WHEN
            CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), 4) AS int) = 13
            AND CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), 2) AS int) >= 4001
            THEN 1
        ELSE 0
    END AS [Found]
