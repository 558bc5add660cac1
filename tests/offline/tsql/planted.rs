//! Each rule finds what it is there for, and lets pass what is right.

use super::{Finding, check};

/// The rules that a script of one procedure breaks.
fn broken(body: &str) -> Vec<&'static str> {
    let ddl = "CREATE TABLE [s].[Q] ([Id] bigint NOT NULL, [Key] varchar(10) NOT NULL, [Wide] nvarchar(10) NULL, \
               [Owner] nvarchar(10) COLLATE Latin1_General_BIN2 NULL, [At] datetime2(7) NULL);";
    let script = format!("CREATE OR ALTER PROCEDURE [s].[P] @Max int AS BEGIN {body} END;\nGO\n");
    rules(&script, ddl)
}

fn rules(script: &str, ddl: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    check(script, ddl, "Queue", &mut found);
    found.iter().map(|finding: &Finding| finding.rule).collect()
}

#[test]
fn rules_about_procedures_find_what_they_are_for() {
    for (rule, bad, good) in [
        ("variable-declared-twice", "DECLARE @Max bit;", "DECLARE @Most int, @More int = ABS(@Most);"),
        (
            "column-declared-twice",
            "DECLARE @T TABLE ([A] int, [a] int);",
            "DECLARE @T TABLE ([A] int, PRIMARY KEY ([A]));",
        ),
        ("variable-in-another-case", "SET @MAX = 1;", "SET @Max = 1;"),
        (
            "readpast-without-rowlock",
            "SELECT q.[Id] FROM [s].[Q] AS q WITH (READPAST);",
            "SELECT q.[Id] FROM [s].[Q] AS q WITH (ROWLOCK, READPAST);",
        ),
        ("target-without-rowlock", "UPDATE [s].[Q] SET [Id] = 1;", "UPDATE [s].[Q] WITH (ROWLOCK) SET [Id] = 1;"),
        (
            "target-without-rowlock",
            "UPDATE q SET [Id] = 1 FROM @T AS t JOIN [s].[Q] AS q ON q.[Id] = t.[Id];",
            "UPDATE q SET [Id] = 1 FROM @T AS t JOIN [s].[Q] AS q WITH (ROWLOCK) ON q.[Id] = t.[Id];",
        ),
        ("target-without-rowlock", "DELETE FROM [s].[Q];", "DELETE FROM @Q;"),
        (
            "target-without-rowlock",
            "WITH c AS (SELECT TOP (1) q.[Id] FROM [s].[Q] AS q) UPDATE c SET [Id] = 1;",
            "WITH c AS (SELECT TOP (1) q.[Id] FROM [s].[Q] AS q WITH (UPDLOCK, ROWLOCK)) UPDATE c SET [Id] = 1 OPTION (FORCE ORDER);",
        ),
        (
            "locked-top-without-force-order",
            "SELECT TOP (@Max) q.[Id] FROM [s].[Q] AS q WITH (UPDLOCK, ROWLOCK) WHERE EXISTS (SELECT 1 FROM @T AS t);",
            "SELECT TOP (@Max) q.[Id] FROM [s].[Q] AS q WITH (UPDLOCK, ROWLOCK) WHERE EXISTS (SELECT 1 FROM @T AS t) OPTION (LOOP JOIN, FORCE ORDER);",
        ),
        (
            "table-beside-without-hints",
            "DELETE l FROM @T AS t JOIN [s].[L] AS l WITH (ROWLOCK, READPAST) ON l.[Id] = t.[Id]; \
             SELECT q.[Id] FROM [s].[Q] AS q WITH (UPDLOCK, ROWLOCK) JOIN [s].[L] AS l ON l.[Id] = q.[Id];",
            "DELETE l FROM @T AS t JOIN [s].[L] AS l WITH (ROWLOCK, READPAST) ON l.[Id] = t.[Id]; \
             SELECT q.[Id] FROM [s].[Q] AS q WITH (UPDLOCK, ROWLOCK) JOIN [s].[L] AS l WITH (UPDLOCK, ROWLOCK) ON l.[Id] = q.[Id]; \
             SELECT l.[Id] FROM [s].[L] AS l;",
        ),
        ("message-with-percent-sign", "THROW 50021, N'100 % sure', 1;", "THROW 50021, N'100 %% sure', 1;"),
        (
            "message-with-percent-sign",
            "DECLARE @M nvarchar(99) = N'x'; THROW 50021, @M, 1;",
            "DECLARE @M nvarchar(99); SET @M = REPLACE(N'x', N'%', N'%%'); THROW 50021, @M, 1;",
        ),
        (
            "numbers-without-order",
            "INSERT INTO @T ([N]) SELECT NEXT VALUE FOR [s].[Seq] FROM @U AS u;",
            "INSERT INTO @T ([N]) SELECT NEXT VALUE FOR [s].[Seq] OVER (ORDER BY u.[I]) FROM @U AS u; SET @N = NEXT VALUE FOR [s].[Seq];",
        ),
        (
            "table-variable-counted-for-each-row",
            "SELECT 1 FROM @T AS t WHERE t.[N] = (SELECT COUNT_BIG(*) FROM @T AS o WHERE o.[M] = t.[M]);",
            "SELECT 1 FROM @T AS t WHERE t.[N] = (SELECT COUNT_BIG(*) FROM @T AS o WHERE o.[M] = 1);",
        ),
        (
            "table-altered-each-time",
            "ALTER TABLE [s].[Q] SET (LOCK_ESCALATION = DISABLE);",
            "IF @Max = 1 ALTER TABLE [s].[Q] SET (LOCK_ESCALATION = DISABLE);",
        ),
        (
            "name-in-another-collation",
            "SELECT 1 FROM sys.objects AS o WHERE o.[name] IN (SELECT n.[value] FROM OPENJSON(@J) AS n);",
            "SELECT 1 FROM sys.objects AS o WHERE o.[name] IN (SELECT n.[value] COLLATE CATALOG_DEFAULT FROM OPENJSON(@J) AS n);",
        ),
        ("insert-without-columns", "INSERT INTO @T SELECT 1;", "INSERT INTO @T ([A]) SELECT 1;"),
        (
            "all-columns-of-a-table",
            "SELECT q.* FROM [s].[Q] AS q;",
            "SELECT v.* FROM [s].[Worker_Q_V] AS v; SELECT COUNT(*), 2 * 3;",
        ),
        (
            "function-on-a-table",
            "SELECT q.[Id] FROM [s].[Q] AS q WHERE [s].[Is_fn](q.[Id]) = 1;",
            "IF [s].[Is_fn](@Max) = 1 RETURN 0; SELECT f.[A] FROM [s].[Q] AS q CROSS APPLY [s].[Of_fn](q.[Id]) AS f;",
        ),
        (
            "sides-of-different-types",
            "DECLARE @K nvarchar(10); SELECT 1 FROM [s].[Q] AS q WHERE q.[Key] = @K;",
            "DECLARE @K varchar(20); SELECT 1 FROM [s].[Q] AS q WHERE q.[Key] = @K;",
        ),
        (
            "sides-of-different-types",
            "SELECT 1 FROM [s].[Q] AS q WHERE q.[Key] = N'x';",
            "SELECT 1 FROM [s].[Q] AS q WHERE q.[Wide] = 'x';",
        ),
        (
            "sides-of-different-types",
            "SELECT 1 FROM [s].[Q] AS q WHERE q.[Id] = @Max;",
            "DECLARE @I bigint; SELECT 1 FROM [s].[Q] AS q WHERE q.[Id] = @I;",
        ),
        (
            "sides-of-different-types",
            "DECLARE @A datetime2(3); SELECT 1 FROM [s].[Q] AS q WHERE q.[At] = @A;",
            "DECLARE @A datetime2(7); SELECT 1 FROM [s].[Q] AS q WHERE q.[At] = @A;",
        ),
        (
            "sides-of-different-types",
            "DECLARE @T TABLE ([O] nvarchar(9)); SELECT 1 FROM [s].[Q] AS q JOIN @T AS t ON t.[O] = q.[Owner] OPTION (RECOMPILE);",
            "DECLARE @T TABLE ([O] nvarchar(9) COLLATE Latin1_General_BIN2); SELECT 1 FROM [s].[Q] AS q JOIN @T AS t ON t.[O] = q.[Owner];",
        ),
        (
            "sides-of-different-types",
            "SELECT 1 FROM OPENJSON(@J) WITH ([K] int '$.k') AS j JOIN [s].[Q] AS q ON q.[Id] = j.[K];",
            "SELECT 1 FROM OPENJSON(@J) WITH ([K] bigint '$.k') AS j JOIN [s].[Q] AS q ON q.[Id] = j.[K];",
        ),
    ] {
        assert_eq!(broken(bad), [rule], "{bad}");
        assert_eq!(broken(good), [""; 0], "{good}");
    }
}

#[test]
fn rules_about_objects_find_what_they_are_for() {
    for (rule, bad, good) in [
        (
            "filter-column-not-in-index",
            "CREATE INDEX [I] ON [s].[Q] ([Id]) WHERE [State] = 'x';",
            "CREATE INDEX [I] ON [s].[Q] ([Id]) INCLUDE ([State]) WHERE [State] = 'x';",
        ),
        (
            "existence-by-open-like",
            "IF EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[name] LIKE N'IX_Q%') PRINT 'x';",
            "IF EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.[name] = N'IX_Q') PRINT 'x';",
        ),
        (
            "schema-without-owner",
            "EXECUTE (N'CREATE SCHEMA [s]');",
            "EXECUTE (N'CREATE SCHEMA [s] AUTHORIZATION [dbo]'); CREATE SCHEMA [s] AUTHORIZATION [dbo];",
        ),
        (
            "function-in-check",
            "ALTER TABLE [s].[Q] ADD CHECK ([s].[Is_fn]([Id]) = 1);",
            "ALTER TABLE [s].[Q] ADD CHECK ([Id] IN (1, 2));",
        ),
    ] {
        assert_eq!(rules(bad, ""), [rule], "{bad}");
        assert_eq!(rules(good, ""), [""; 0], "{good}");
    }
}
