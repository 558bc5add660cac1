-- The table of the third document with the columns that its author adds in words: "you could add a [IsEmailSent] column",
-- "add a [RetryCount] counter". Both have a default, so that the INSERT of the document goes on working.
ALTER TABLE [dbo].[EmailRequests] ADD [IsEmailSent] [bit] NOT NULL DEFAULT 0;
GO
ALTER TABLE [dbo].[EmailRequests] ADD [RetryCount] [int] NOT NULL DEFAULT 0;
