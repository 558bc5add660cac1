
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Made again below, in its new shape. */
DROP INDEX IF EXISTS [IX_Work_Due] ON [readpast].[Work];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] DROP CONSTRAINT IF EXISTS [CK_Work.Title];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] DROP CONSTRAINT IF EXISTS [DF_Work.Customer];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] DROP CONSTRAINT IF EXISTS [DF_Work.Code];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] DROP CONSTRAINT IF EXISTS [CK_Work.Amount];
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
ALTER TABLE [readpast].[Work] ALTER COLUMN [Code] [dbo].[OtpCode] NULL;
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* The rows that are there were enqueued without it, and stay so. */
IF COL_LENGTH(N'[readpast].[Work]', N'Note') IS NULL
    ALTER TABLE [readpast].[Work] ADD [Note] nvarchar(max) NULL CONSTRAINT [DF_Work.Note] DEFAULT (N'n');
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
IF COL_LENGTH(N'[readpast].[Work]', N'Rank') IS NULL
    ALTER TABLE [readpast].[Work] ADD [Rank] int NOT NULL CONSTRAINT [DF_Work.Rank] DEFAULT (1);
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] ADD CONSTRAINT [DF_Work.Customer] DEFAULT (0) FOR [Customer];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
ALTER TABLE [readpast].[Work] ADD CONSTRAINT [DF_Work.Code] DEFAULT (N'b') FOR [Code];
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Refused where a row that is there breaks it. */
ALTER TABLE [readpast].[Work] WITH CHECK ADD CONSTRAINT [CK_Work.Title]
CHECK (1 = 1);
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Refused where a row that is there breaks it. */
ALTER TABLE [readpast].[Work] WITH CHECK ADD CONSTRAINT [FK_Work.Customer]
FOREIGN KEY ([Customer]) REFERENCES [dbo].[Customers] ([ID]);
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
/* Refused where a row that is there breaks it. */
ALTER TABLE [readpast].[Work] WITH CHECK ADD CONSTRAINT [CK_Work.Amount]
CHECK ("Amount" < "Customer");
GO
IF @@TRANCOUNT = 0 SET NOEXEC ON;
GO
