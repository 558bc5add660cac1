        AND {{ item }}.[Status] IN (SELECT w.[Status] FROM @Wanted AS w)
        AND (@Types IS NULL OR {{ item }}.[Type] IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
        AND (@Before IS NULL OR {{ item }}.[UpdatedAt] < @Before)
        AND (@Since IS NULL OR {{ item }}.[UpdatedAt] >= @Since)
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, {{ item }}.[Error]) > 0)
