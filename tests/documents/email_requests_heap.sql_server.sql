-- The table of the third document as a heap: without the clustered index of its primary key.
ALTER TABLE [dbo].[EmailRequests] DROP CONSTRAINT [PK_EmailRequests];
GO
ALTER TABLE [dbo].[EmailRequests] ADD CONSTRAINT [PK_EmailRequests] PRIMARY KEY NONCLUSTERED ([Id] ASC);
