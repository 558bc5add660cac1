
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Made again below, in its new shape. */
DROP INDEX IF EXISTS [IX_Work_Due] ON [readpast].[Work];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] ALTER COLUMN [Title] nvarchar(80);
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] ALTER COLUMN [Customer] bigint NOT NULL;
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF COL_LENGTH(N'[readpast].[Work]', N'Note') IS NULL
    ALTER TABLE [readpast].[Work] ADD [Note] nvarchar(max) NULL;
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
