-- The table of the third document, translated in its types only; see email_requests.sql_server.sql.
CREATE TABLE EmailRequests(
    Id integer GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1) NOT NULL,
    EmailAddress varchar(250) NOT NULL,
    Subject varchar(50) NOT NULL,
    Body varchar(500) NOT NULL,
    IsProcessed boolean NOT NULL,
    Created timestamp(3) NOT NULL,
    CONSTRAINT PK_EmailRequests PRIMARY KEY (Id)
);
