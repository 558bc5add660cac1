-- The tables of the first document, translated in their types only; see relational.sql_server.sql. What are alias types
-- there are the types themselves here, so that the domains of a readpast schema of the same name do not come into it.
CREATE TABLE SyncQueueType (Type varchar(60) PRIMARY KEY);
GO
INSERT INTO SyncQueueType (Type) VALUES ('Customers'), ('Orders'), ('Prices');
GO
CREATE TABLE NotificationType (Type varchar(60) PRIMARY KEY);
GO
INSERT INTO NotificationType (Type) VALUES ('ResetPassword'), ('Email'), ('Sms');
GO
CREATE TABLE QueueStatus (Status varchar(20), CONSTRAINT PK_QueueStatus PRIMARY KEY (Status));
GO
INSERT INTO QueueStatus (Status) VALUES
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
CREATE TABLE SyncQueue (
    EnqueuedAt timestamptz,
    UpdatedAt timestamptz,
    Status varchar(20),
    Type varchar(60),
    Step varchar(60),
    AttemptNum integer,
    Response text DEFAULT '',
    Error text DEFAULT '',
    StartedAt timestamptz,
    Duration bigint,
    ScheduledFor timestamptz,
    CONSTRAINT PK_SyncQueue PRIMARY KEY (EnqueuedAt),
    CONSTRAINT SyncQueue_IsClassifiedBy_SyncQueueType FOREIGN KEY (Type) REFERENCES SyncQueueType (Type),
    CONSTRAINT SyncQueue_IsStatedBy_QueueStatus FOREIGN KEY (Status) REFERENCES QueueStatus (Status)
);
GO
CREATE TABLE Notification (
    EnqueuedAt timestamptz PRIMARY KEY,
    Type varchar(60),
    Status varchar(20),
    Step varchar(60),
    AttemptNum integer,
    Response text DEFAULT '',
    Error text DEFAULT '',
    StartedAt timestamptz,
    Duration bigint,
    ScheduledFor timestamptz,
    UpdatedAt timestamptz,
    CONSTRAINT Notification_IsDiscriminatedBy_NotificationType
        FOREIGN KEY (Type) REFERENCES NotificationType (Type),
    CONSTRAINT Notification_IsStatedBy_QueueStatus FOREIGN KEY (Status) REFERENCES QueueStatus (Status)
);
GO
CREATE FUNCTION Notification_IsType_fn (timestamptz, varchar) RETURNS boolean LANGUAGE sql AS $$
    SELECT EXISTS (SELECT 1 FROM public.Notification WHERE EnqueuedAt = $1 AND Type = $2)
$$;
GO
-- Exclusive subtype: data specific to a password reset notification
CREATE TABLE Notification_ResetPassword (
    EnqueuedAt timestamptz PRIMARY KEY,
    OTP varchar(16),
    UserID integer,
    Username varchar(128),
    CONSTRAINT ResetPassword_Is_Notification FOREIGN KEY (EnqueuedAt) REFERENCES Notification (EnqueuedAt),
    CONSTRAINT ResetPassword_IsType_Notification CHECK (Notification_IsType_fn(EnqueuedAt, 'ResetPassword'))
);
GO
-- Inclusive subtypes: delivery channels (a notification can be both email AND sms)
CREATE TABLE Notification_Email (
    EnqueuedAt timestamptz PRIMARY KEY,
    EmailTo varchar(254),
    PreferredLanguage varchar(60) DEFAULT 'en',
    Response text DEFAULT '',
    Error text DEFAULT '',
    CONSTRAINT Email_Is_Notification FOREIGN KEY (EnqueuedAt) REFERENCES Notification (EnqueuedAt)
);
