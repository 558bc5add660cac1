-- The queue of the document: its types, tables, functions and Next_Notification_trx as printed there; what it leaves to the
-- reader (types, the discriminator function, the view, Modify_Notification_trx by its eight steps) in the same manner.
CREATE TYPE _Timestamp FROM datetime2(7);
GO
CREATE TYPE _Int FROM int;
GO
CREATE TYPE _Type FROM varchar(30);
GO
CREATE TYPE QueueState FROM varchar(20);
GO
CREATE TYPE QueueStep FROM varchar(30);
GO
CREATE TYPE AttemptNum FROM int;
GO
CREATE TYPE WebResponse FROM nvarchar(max);
GO
CREATE TYPE Duration FROM bigint;
GO
CREATE TYPE OtpCode FROM varchar(10);
GO
CREATE TYPE DbUserID FROM int;
GO
CREATE TYPE DbUsername FROM nvarchar(60);
GO
CREATE TYPE Email FROM nvarchar(254);
GO
CREATE TYPE [Name] FROM nvarchar(60);
GO
CREATE TABLE AppSettings (Param varchar(60) NOT NULL PRIMARY KEY, ValInt int NULL);
GO
CREATE TABLE NotificationType ([Type] _Type NOT NULL, CONSTRAINT PK_NotificationType PRIMARY KEY ([Type]));
GO
INSERT INTO NotificationType ([Type]) VALUES ('ResetPassword'), ('Email');
GO
CREATE TABLE QueueStatus (
[Status] QueueState NOT NULL,
CONSTRAINT PK_QueueStatus PRIMARY KEY CLUSTERED ([Status])
);
GO
INSERT INTO QueueStatus([Status]) VALUES
('Pending'),
('Processing'),
('Error'), -- Retryable
('Failed'), -- Non-retryable (max attempts exceeded)
('Completed'),
('Cancelled'),
('Paused'),
('Terminated'),
('PartiallyCompleted');
GO
CREATE OR ALTER FUNCTION QueueIsProcessable_fn (@Status QueueState)
RETURNS BIT AS BEGIN
-- Can this item be picked up for processing?
IF @Status IN ('Pending', 'Paused', 'Error')
RETURN 1;
RETURN 0;
END;
GO
CREATE OR ALTER FUNCTION QueueIsFinished_fn (@Status QueueState)
RETURNS BIT AS BEGIN
-- Is this item in a terminal state?
IF @Status NOT IN ('Pending', 'Processing', 'Error', 'Paused')
RETURN 1;
RETURN 0;
END;
GO
CREATE OR ALTER FUNCTION QueueIsEditable_fn (@Status QueueState)
RETURNS BIT AS BEGIN
-- Can a worker write response/error data to this item?
IF @Status NOT IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
RETURN 1;
RETURN 0;
END;
GO
-- Base: shared queue columns
CREATE TABLE Notification (
EnqueuedAt _Timestamp NOT NULL PRIMARY KEY,
[Type] _Type,
[Status] QueueState,
[Step] QueueStep,
AttemptNum AttemptNum,
Response WebResponse DEFAULT '',
Error WebResponse DEFAULT '',
StartedAt _Timestamp,
Duration Duration,
ScheduledFor _Timestamp,
UpdatedAt _Timestamp,
CONSTRAINT Notification_IsDiscriminatedBy_NotificationType
FOREIGN KEY ([Type]) REFERENCES NotificationType([Type]),
CONSTRAINT Notification_IsStatedBy_QueueStatus
FOREIGN KEY ([Status]) REFERENCES QueueStatus([Status])
);
GO
CREATE OR ALTER FUNCTION Notification_IsType_fn (@EnqueuedAt _Timestamp, @Type _Type)
RETURNS BIT AS BEGIN
IF EXISTS (SELECT 1 FROM Notification WHERE EnqueuedAt = @EnqueuedAt AND [Type] = @Type)
RETURN 1;
RETURN 0;
END;
GO
-- Exclusive subtype: data specific to a password reset notification
CREATE TABLE Notification_ResetPassword (
EnqueuedAt _Timestamp NOT NULL PRIMARY KEY,
OTP OtpCode,
UserID DbUserID,
Username DbUsername,
CONSTRAINT ResetPassword_Is_Notification
FOREIGN KEY (EnqueuedAt) REFERENCES Notification(EnqueuedAt),
CONSTRAINT ResetPassword_IsType_Notification
CHECK (dbo.Notification_IsType_fn(EnqueuedAt, 'ResetPassword') = 1)
);
GO
-- Inclusive subtypes: delivery channels (a notification can be both email AND sms)
CREATE TABLE Notification_Email (
EnqueuedAt _Timestamp NOT NULL PRIMARY KEY,
EmailTo Email,
PreferredLanguage [Name] DEFAULT 'en',
Response WebResponse DEFAULT '',
Error WebResponse DEFAULT '',
CONSTRAINT Email_Is_Notification
FOREIGN KEY (EnqueuedAt) REFERENCES Notification(EnqueuedAt)
);
GO
CREATE OR ALTER VIEW Worker_Notification_V AS
SELECT n.EnqueuedAt, n.[Type], n.[Status], n.[Step], n.AttemptNum, n.Response, n.Error, n.StartedAt, n.Duration,
n.ScheduledFor, n.UpdatedAt, p.OTP, p.UserID, p.Username, e.EmailTo, e.PreferredLanguage
FROM Notification AS n
LEFT JOIN Notification_ResetPassword AS p ON p.EnqueuedAt = n.EnqueuedAt
LEFT JOIN Notification_Email AS e ON e.EnqueuedAt = n.EnqueuedAt;
GO
CREATE OR ALTER PROCEDURE Next_Notification_trx
AS BEGIN
DECLARE @EnqueuedAt _Timestamp;
DECLARE @MaxAttempts _Int;
DECLARE @ErrNo INT;
DECLARE @RowCnt INT;
IF (@@TRANCOUNT > 0) BEGIN
RAISERROR(50012, 16, 1, 'Next_Notification_trx');
GOTO EXIT_ERROR;
END
-- Read max attempts from centralized settings, default to 3
SET @MaxAttempts = COALESCE(
(SELECT ValInt FROM AppSettings WHERE Param = 'notification.maxAttempts'),
3
);
BEGIN TRANSACTION Next_Notification_trx;
-- READPAST skips rows locked by other workers
-- UPDLOCK + ROWLOCK claims this specific row
SELECT TOP (1)
@EnqueuedAt = EnqueuedAt
FROM Notification WITH (UPDLOCK, ROWLOCK, READPAST)
WHERE
[Status] IN ('Pending', 'Error')
AND ScheduledFor <= SYSDATETIME()
AND AttemptNum < @MaxAttempts
ORDER BY
ScheduledFor ASC;
-- No work available — clean exit
IF @EnqueuedAt IS NULL BEGIN
COMMIT TRANSACTION Next_Notification_trx;
RETURN 0;
END
-- Claim the item: set to Processing, bump attempt count
UPDATE Notification
SET
[Status] = 'Processing',
UpdatedAt = SYSDATETIME(),
StartedAt = SYSDATETIME(),
AttemptNum = AttemptNum + 1
WHERE
EnqueuedAt = @EnqueuedAt;
SELECT @RowCnt = @@ROWCOUNT, @ErrNo = @@ERROR;
IF (@ErrNo <> 0) GOTO EXIT_TRANSACTION;
IF (@RowCnt <> 1) BEGIN
RAISERROR(50005, 16, 1, 'Next_Notification_trx: Notification');
GOTO EXIT_TRANSACTION;
END
COMMIT TRANSACTION Next_Notification_trx;
-- Return the claimed item's key and concurrency token
SELECT EnqueuedAt, UpdatedAt FROM Worker_Notification_V
WHERE EnqueuedAt = @EnqueuedAt;
RETURN 0;
EXIT_TRANSACTION:
ROLLBACK TRANSACTION Next_Notification_trx;
EXIT_ERROR:
RETURN 1;
END;
GO
CREATE OR ALTER PROCEDURE Modify_Notification_trx
@EnqueuedAt _Timestamp,
@UpdatedAt _Timestamp, -- optimistic concurrency token
@Status QueueState,
@Step QueueStep = NULL, -- current step in multi-step jobs
@Response WebResponse = NULL,
@Error WebResponse = NULL,
@ScheduledFor _Timestamp = NULL
AS BEGIN
DECLARE @CurrentStatus QueueState;
DECLARE @StartedAt _Timestamp;
DECLARE @AttemptNum AttemptNum;
DECLARE @MaxAttempts _Int;
DECLARE @Duration Duration;
DECLARE @ErrNo INT;
DECLARE @RowCnt INT;
-- 1. Validate @@TRANCOUNT = 0
IF (@@TRANCOUNT > 0) BEGIN
RAISERROR(50012, 16, 1, 'Modify_Notification_trx');
GOTO EXIT_ERROR;
END
-- 2. Classify the new and current status using QueueIs*_fn functions
SELECT @CurrentStatus = [Status], @StartedAt = StartedAt, @AttemptNum = AttemptNum
FROM Notification WHERE EnqueuedAt = @EnqueuedAt;
-- 3. Validate the transition is legal
IF @CurrentStatus IS NULL OR dbo.QueueIsFinished_fn(@CurrentStatus) = 1 BEGIN
RAISERROR(50024, 16, 1, 'Modify_Notification_trx');
GOTO EXIT_ERROR;
END
IF dbo.QueueIsEditable_fn(@CurrentStatus) = 0 AND (@Response IS NOT NULL OR @Error IS NOT NULL) BEGIN
RAISERROR(50024, 16, 1, 'Modify_Notification_trx');
GOTO EXIT_ERROR;
END
-- 4. Read max attempts from AppSettings (default to 3)
SET @MaxAttempts = COALESCE(
(SELECT ValInt FROM AppSettings WHERE Param = 'notification.maxAttempts'),
3
);
-- 5. Enforce max attempts (force Failed if exceeded)
IF @AttemptNum >= @MaxAttempts AND @Status NOT IN ('Completed', 'Processing')
SET @Status = 'Failed';
-- 6. Calculate duration if finishing
IF dbo.QueueIsFinished_fn(@Status) = 1
SET @Duration = DATEDIFF(MILLISECOND, @StartedAt, SYSDATETIME());
BEGIN TRANSACTION Modify_Notification_trx;
-- 7. UPDATE with WHERE UpdatedAt = @UpdatedAt (optimistic concurrency)
UPDATE Notification
SET
[Status] = @Status,
[Step] = ISNULL(@Step, [Step]),
Response = ISNULL(@Response, Response),
Error = ISNULL(@Error, Error),
Duration = ISNULL(@Duration, Duration),
ScheduledFor = ISNULL(@ScheduledFor, ScheduledFor),
UpdatedAt = SYSDATETIME()
WHERE
EnqueuedAt = @EnqueuedAt
AND UpdatedAt = @UpdatedAt;
SELECT @RowCnt = @@ROWCOUNT, @ErrNo = @@ERROR;
IF (@ErrNo <> 0) GOTO EXIT_TRANSACTION;
IF (@RowCnt <> 1) BEGIN
RAISERROR(50005, 16, 1, 'Modify_Notification_trx: Notification');
GOTO EXIT_TRANSACTION;
END
COMMIT TRANSACTION Modify_Notification_trx;
-- 8. Return updated item through worker view
SELECT * FROM Worker_Notification_V WHERE EnqueuedAt = @EnqueuedAt;
RETURN 0;
EXIT_TRANSACTION:
ROLLBACK TRANSACTION Modify_Notification_trx;
EXIT_ERROR:
RETURN 1;
END;
GO
CREATE OR ALTER PROCEDURE Add_Notification_trx
@Type _Type,
@EmailTo Email,
@ScheduledFor _Timestamp = NULL
AS BEGIN
DECLARE @EnqueuedAt _Timestamp;
DECLARE @Now _Timestamp = SYSDATETIME();
IF (@@TRANCOUNT > 0) BEGIN
RAISERROR(50012, 16, 1, 'Add_Notification_trx');
RETURN 1;
END
BEGIN TRANSACTION Add_Notification_trx;
-- The document keys items by their time: the next free tick distinguishes two of one tick of the clock.
SELECT @EnqueuedAt = MAX(EnqueuedAt) FROM Notification WITH (UPDLOCK, HOLDLOCK);
IF @EnqueuedAt IS NULL OR @EnqueuedAt < @Now
SET @EnqueuedAt = @Now;
ELSE
SET @EnqueuedAt = DATEADD(MICROSECOND, 1, @EnqueuedAt);
INSERT INTO Notification (EnqueuedAt, [Type], [Status], AttemptNum, ScheduledFor, UpdatedAt)
VALUES (@EnqueuedAt, @Type, 'Pending', 0, ISNULL(@ScheduledFor, @Now), @Now);
INSERT INTO Notification_Email (EnqueuedAt, EmailTo) VALUES (@EnqueuedAt, @EmailTo);
COMMIT TRANSACTION Add_Notification_trx;
SELECT EnqueuedAt, UpdatedAt FROM Worker_Notification_V WHERE EnqueuedAt = @EnqueuedAt;
RETURN 0;
END;
GO
