/* The objects of the database that all batches below stand in. */
CREATE SCHEMA [s] AUTHORIZATION [dbo];
GO
CREATE TYPE [s].[State] FROM varchar(20) NULL;
GO
CREATE TABLE [s].[Q] (
    [Id] bigint IDENTITY(1, 1) NOT NULL,
    [Name] nvarchar(40) NOT NULL,
    [Status] [s].[State] NOT NULL DEFAULT 'new',
    [At] datetime2(7) NULL,
    [Ref] uniqueidentifier NULL,
    [Twice] AS ([Id] * 2),
    CONSTRAINT [PK_Q] PRIMARY KEY CLUSTERED ([Id])
);
CREATE INDEX [IX_Q_At] ON [s].[Q] ([At]) INCLUDE ([Status]) WHERE [Status] = 'new';
CREATE TABLE [s].[Part] ([Id] bigint NOT NULL, [Number] int NOT NULL, CONSTRAINT [FK_Part] FOREIGN KEY ([Id]) REFERENCES [s].[Q] ([Id]));
CREATE SEQUENCE [s].[Turn] AS bigint START WITH 1;
GO
CREATE VIEW [s].[Q_V] AS SELECT q.[Id], q.[Name] AS [Title] FROM [s].[Q] AS q;
GO
CREATE FUNCTION [s].[Is_fn] (@Id bigint) RETURNS bit AS BEGIN RETURN 1; END;
GO
CREATE FUNCTION [s].[Parts_fn] (@Id bigint) RETURNS TABLE AS RETURN (SELECT p.[Number], p.[Id] FROM [s].[Part] AS p WHERE p.[Id] = @Id);
GO
CREATE PROCEDURE [s].[Do] @Id bigint, @Max int = 1, @Answer int = NULL OUTPUT AS SET @Answer = @Max;
GO
CREATE ROLE [worker];
GO
-- right
WITH c AS (SELECT TOP (1) q.[Id], q.[Status] FROM [s].[Q] AS q WITH (UPDLOCK, INDEX ([IX_Q_At])) ORDER BY q.[At])
UPDATE c SET [Status] = 'old' OUTPUT inserted.[Id];
GO
-- right
DECLARE @T table ([Id] bigint, [N] int);
INSERT INTO [s].[Q] ([Name]) OUTPUT inserted.[Id], 1 INTO @T ([Id], [N]) SELECT v.[Title] FROM [s].[Q_V] AS v;
SELECT q.[Status], COUNT(*) AS [Number] FROM [s].[Q] AS q GROUP BY q.[Status] HAVING COUNT(*) > 1 ORDER BY [Number];
SELECT x.[Number], j.[key] FROM [s].[Q] AS q CROSS APPLY [s].[Parts_fn](q.[Id]) AS x CROSS APPLY OPENJSON(N'[]') AS j WHERE [s].[Is_fn](q.[Id]) = 1;
GO
-- right
DECLARE @A int, @Id bigint = NEXT VALUE FOR [s].[Turn];
EXECUTE [s].[Do] @Id = @Id, @Answer = @A OUTPUT;
EXECUTE (N'SELECT q.[Id] FROM [s].[Q] AS q;');
IF OBJECT_ID(N'[s].[Q]', N'U') IS NOT NULL AND COL_LENGTH(N'[s].[Q]', N'Name') > DATEDIFF(DAY, SYSUTCDATETIME(), '2026-01-01') GRANT SELECT ON [s].[Q] TO [worker];
GO
-- right
SELECT i.[name] FROM sys.indexes AS i WHERE i.[has_filter] = 1 AND EXISTS (SELECT 1 FROM sys.tables AS t WHERE t.[object_id] = i.[object_id]);
GO
-- finds column
SELECT q.[Nam] FROM [s].[Q] AS q;
GO
-- finds column
SELECT q.[Id] FROM [s].[Q] AS q ORDER BY q.[Of];
GO
-- finds column
UPDATE [s].[Q] SET [Statu] = 'x';
GO
-- finds column
INSERT INTO [s].[Part] ([Id], [Number], [Nr]) VALUES (1, 2, 3);
GO
-- finds column
SELECT d.[B] FROM (SELECT q.[Id] AS [A] FROM [s].[Q] AS q) AS d;
GO
-- finds column
SELECT r.[Id] FROM [s].[Q] AS q;
GO
-- finds column
DECLARE @T table ([A] int);
SELECT t.[B] FROM @T AS t;
GO
-- finds column
SELECT j.[B] FROM OPENJSON(N'[]') WITH ([A] int '$.a') AS j;
GO
-- finds column
SELECT q.[Id], q.[Name] INTO [s].[Kept] FROM [s].[Q] AS q;
SELECT k.[At] FROM [s].[Kept] AS k;
GO
-- right
SELECT q.[Id], q.[Name] INTO [s].[Kept] FROM [s].[Q] AS q;
SELECT k.[Name] FROM [s].[Kept] AS k;
GO
-- finds column
SELECT f.[Nr] FROM [s].[Parts_fn](1) AS f;
GO
-- finds column
SELECT i.[nam] FROM sys.indexes AS i;
GO
-- finds column
CREATE INDEX [IX] ON [s].[Q] ([Sttus]);
GO
-- finds column
CREATE INDEX [IX] ON [s].[Q] ([At]) INCLUDE ([Sttus]);
GO
-- finds column
CREATE INDEX [IX] ON [s].[Q] ([At]) WHERE [Sttus] = 'new';
GO
-- finds column
ALTER TABLE [s].[Part] ADD CONSTRAINT [FK] FOREIGN KEY ([Nr]) REFERENCES [s].[Q] ([Id]);
GO
-- finds column
ALTER TABLE [s].[Part] ADD CONSTRAINT [FK] FOREIGN KEY ([Id]) REFERENCES [s].[Q] ([Nr]);
GO
-- finds column
ALTER TABLE [s].[Part] ADD CONSTRAINT [C] CHECK ([Nr] > 0);
GO
-- finds column
CREATE TABLE [s].[Z] ([A] int, [B] AS ([C] + 1));
GO
-- finds column
CREATE TABLE [s].[Z] ([A] int, CONSTRAINT [PK_Z] PRIMARY KEY ([B]));
GO
-- finds column
GRANT SELECT ON [s].[Q] ([Nr]) TO [worker];
GO
-- finds column
IF COL_LENGTH(N'[s].[Q]', N'Nr') IS NULL PRINT 'x';
GO
-- finds column
SELECT q.[Id] FROM [s].[Q] AS q WITH (FORCESEEK ([IX_Q_At] ([Att])));
GO
-- finds column
EXECUTE (N'SELECT q.[Idd] FROM [s].[Q] AS q;');
GO
-- finds column
CREATE TRIGGER [s].[Tr] ON [s].[Q] AFTER INSERT AS SELECT i.[Nr] FROM inserted AS i;
GO
-- finds ambiguous
SELECT [Id] FROM [s].[Q] AS q INNER JOIN [s].[Part] AS p ON p.[Id] = q.[Id];
GO
-- finds table
SELECT q.[Id] FROM [s].[QQ] AS q;
GO
-- finds table
SELECT q.[Id] FROM [t].[Q] AS q;
GO
-- finds table
SELECT x.[name] FROM sys.indexess AS x;
GO
-- finds table
DELETE FROM [s].[QQ];
GO
-- finds table
ALTER TABLE [s].[Part] ADD CONSTRAINT [FK] FOREIGN KEY ([Id]) REFERENCES [s].[QQ] ([Id]);
GO
-- finds twice
SELECT 1 AS [One] FROM [s].[Q] AS q CROSS JOIN [s].[Part] AS q;
GO
-- finds twice
CREATE VIEW [s].[W] AS SELECT q.[Id], p.[Id] FROM [s].[Q] AS q INNER JOIN [s].[Part] AS p ON p.[Id] = q.[Id];
GO
-- finds twice
UPDATE [s].[Part] SET [Number] = 1, [Number] = 2;
GO
-- finds unnamed
SELECT d.[Id] FROM (SELECT q.[Id], 1 FROM [s].[Q] AS q) AS d;
GO
-- finds variable
SET @A = 1;
GO
-- finds variable
DECLARE @A int = 1;
DECLARE @A int = 2;
SET @A = 3;
GO
-- finds variable
SELECT t.[A] FROM @T AS t;
GO
-- finds variable
EXECUTE [s].[Do] @Id = @Id;
GO
-- finds variable
SELECT @@ROWCOUNTS;
GO
-- finds case
DECLARE @Max int;
SET @max = 1;
GO
-- finds unused
CREATE PROCEDURE [s].[P] @A int AS DECLARE @B int;
GO
-- finds case
SELECT q.[id] FROM [s].[Q] AS q;
GO
-- finds case
SELECT p.[Id] FROM [s].[part] AS p;
GO
-- finds case
SELECT p.[Id] FROM [S].[Part] AS p;
GO
-- finds case
SELECT [S].[Is_fn](1);
GO
-- finds case
SELECT f.[Id] FROM [S].[Parts_fn](1) AS f;
GO
-- finds case
EXECUTE [S].[Do] @Id = 1;
GO
-- finds case
SELECT NEXT VALUE FOR [S].[Turn];
GO
-- finds case
CREATE TABLE [S].[Z] ([A] int);
GO
-- finds case
DECLARE @A [S].[State];
SET @A = 'x';
GO
-- finds case
GRANT SELECT ON [S].[Q] TO [worker];
GO
-- finds case
IF COL_LENGTH(N'[S].[Q]', N'Id') IS NULL PRINT 'x';
GO
-- finds case
SELECT x.[name] FROM sys.Indexes AS x;
GO
-- finds case
EXECUTE (N'DROP TABLE [S].[Q];');
GO
-- right
SELECT @p1;
GO
-- finds variable
CREATE PROCEDURE [s].[P] AS SELECT @p1;
GO
-- finds variable
EXECUTE (N'SELECT @p1;');
GO
-- finds unused
EXECUTE (N'DECLARE @A int;');
GO
-- right
EXECUTE (N'DECLARE @A int = (SELECT p.[Number] FROM [s].[Part] AS p WITH (UPDLOCK));');
GO
-- finds word
EXECUTE (N'SET DEADLOCK_PRIORITY LO;');
GO
-- finds column
IF OBJECT_ID(N'[s].[Q]', N'U') IS NULL CREATE TABLE [s].[Q] ([Id] bigint NOT NULL, [Newer] int NULL);
SELECT q.[Newer] FROM [s].[Q] AS q;
GO
-- right
IF OBJECT_ID(N'[s].[Q]', N'U') IS NULL CREATE TABLE [s].[Q] ([Id] bigint NOT NULL, [Newer] int NULL, CHECK ([Newer] > 0));
IF COL_LENGTH(N'[s].[Q]', N'Id') IS NULL ALTER TABLE [s].[Q] ADD [Newer] int NULL;
SELECT q.[Newer] FROM [s].[Q] AS q;
GO
-- finds constraint
IF OBJECT_ID(N'[s].[Q]', N'U') IS NULL CREATE TABLE [s].[Q] ([Id] bigint NOT NULL, CONSTRAINT [U] UNIQUE ([Id]));
ALTER TABLE [s].[Q] DROP CONSTRAINT [U];
GO
-- finds count
INSERT INTO [s].[Part] ([Id], [Number]) VALUES (1, 2, 3);
GO
-- finds count
INSERT INTO [s].[Part] ([Id], [Number]) SELECT q.[Id] FROM [s].[Q] AS q;
GO
-- finds count
SELECT 1 AS [A], 2 AS [B] UNION ALL SELECT 1;
GO
-- finds count
SELECT v.[A] FROM (VALUES (1, 2)) AS v ([A]);
GO
-- finds count
SELECT (SELECT q.[Id], q.[At] FROM [s].[Q] AS q) AS [A];
GO
-- finds count
WITH c ([A], [B]) AS (SELECT 1) SELECT c.[A] FROM c;
GO
-- finds null
INSERT INTO [s].[Q] ([At]) VALUES (NULL);
GO
-- finds made
INSERT INTO [s].[Q] ([Id], [Name]) VALUES (1, N'x');
GO
-- finds made
UPDATE [s].[Q] SET [Twice] = 1;
GO
-- finds kind
UPDATE [s].[Q] SET [Ref] = 1;
GO
-- finds kind
SELECT 1 FROM [s].[Q] AS q WHERE q.[At] = q.[Id];
GO
-- finds kind
DECLARE @A uniqueidentifier;
EXECUTE [s].[Do] @Id = @A;
GO
-- finds procedure
EXECUTE [s].[Dos] @Id = 1;
GO
-- finds procedure
EXECUTE [s].[Is_fn] @Id = 1;
GO
-- finds argument
EXECUTE [s].[Do] @Idd = 1;
GO
-- finds argument
EXECUTE [s].[Do] @Max = 1;
GO
-- finds argument
EXECUTE [s].[Do] 1, 2, 3, 4;
GO
-- finds argument
EXECUTE [s].[Do] @Id = 1, @Id = 2;
GO
-- finds argument
DECLARE @A int;
EXECUTE [s].[Do] @Id = 1, @Max = @A OUTPUT;
GO
-- finds argument
EXECUTE sp_getapplock @Ressource = 'x';
GO
-- finds argument
SELECT [s].[Is_fn](1, 2);
GO
-- finds argument
SELECT SUBSTRING('abc', 1);
GO
-- finds function
SELECT [s].[Iss_fn](1);
GO
-- finds function
SELECT f.[Id] FROM [s].[Partss_fn](1) AS f;
GO
-- finds function
SELECT SYSUTCDATETIMES();
GO
-- finds function
SELECT DATEADD(DAYY, 1, SYSUTCDATETIME());
GO
-- finds type
DECLARE @A [s].[Stat];
SET @A = 'x';
GO
-- finds type
CREATE PROCEDURE [s].[P] @A nvarchr(10) AS SELECT @A;
GO
-- finds type
CREATE TABLE [s].[Z] ([A] [s].[Stat]);
GO
-- finds index
SELECT q.[Id] FROM [s].[Q] AS q WITH (INDEX ([IX_Q_Att]));
GO
-- finds sequence
SELECT NEXT VALUE FOR [s].[Turns];
GO
-- finds grant
GRANT EXECUTE ON [s].[Dos] TO [worker];
GO
-- finds grant
GRANT EXECUTE ON [s].[Q] TO [worker];
GO
-- finds grant
GRANT SELECT ON [s].[Do] TO [worker];
GO
-- finds role
GRANT SELECT ON [s].[Q] TO [workers];
GO
-- finds constraint
ALTER TABLE [s].[Q] DROP CONSTRAINT [PK_QQ];
GO
-- finds drop
DROP PROCEDURE IF EXISTS [s].[Dos];
GO
-- finds drop
DROP INDEX IF EXISTS [IX_Q_Att] ON [s].[Q];
GO
-- finds drop
IF OBJECT_ID(N'[s].[QQ]', N'U') IS NULL PRINT 'x';
GO
-- finds drop
IF TYPE_ID(N'[s].[Stat]') IS NULL PRINT 'x';
GO
-- finds group
SELECT q.[Status], q.[Name] FROM [s].[Q] AS q GROUP BY q.[Status];
GO
-- finds group
SELECT q.[Name], MAX(q.[Id]) AS [M] FROM [s].[Q] AS q;
GO
-- finds group
SELECT COUNT(*) AS [N] FROM [s].[Q] AS q GROUP BY q.[Status] HAVING q.[Name] = N'x';
GO
-- finds newer
SELECT GREATEST(1, 2);
GO
-- finds newer
SELECT g.[value] FROM GENERATE_SERIES(1, 9) AS g;
GO
-- finds argument
SELECT p.[value] FROM STRING_SPLIT('a,b', ',', 1) AS p;
GO
-- finds newer
SELECT DATETRUNC(DAY, SYSUTCDATETIME());
GO
-- finds syntax
SELECT 1 FROM [s].[Q] AS q WHERE q.[Id] IS DISTINCT FROM 1;
GO
-- finds syntax
SELECT TRIM(LEADING 'x' FROM 'xa');
GO
-- finds syntax
SELECT JSON_OBJECT('a': 1);
GO
-- finds syntax
SELECT SUM(q.[Id]) OVER w FROM [s].[Q] AS q WINDOW w AS (ORDER BY q.[Id]);
GO
-- finds syntax
SELECT 1 FROM;
GO
-- finds word
CREATE PROCEDURE [ss].[P] AS SELECT 1;
GO
-- finds word
SELECT q.[Name] COLLATE DATABASE_DEFALT AS [Name] FROM [s].[Q] AS q;
GO
-- finds word
SET DEADLOCK_PRIORITY LO;
GO
