SELECT a.[ValInt] FROM {{ object("AppSettings") }} AS a WHERE a.[Param] = ? AND a.[ValInt] IS NOT NULL
