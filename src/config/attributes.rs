//! Known attributes of connection strings.

/// Attributes whose values messages may show, since drivers' errors need them.
pub(super) const HARMLESS: [&str; 48] = [
    "addr",
    "address",
    "app",
    "applicationintent",
    "authentication",
    "boolsaschar",
    "byteaaslongvarbinary",
    "clientcertificate",
    "columnencryption",
    "connectretrycount",
    "connectretryinterval",
    "database",
    "description",
    "driver",
    "dsn",
    "encrypt",
    "failover_partner",
    "failoverpartnerspn",
    "fetch",
    "filedsn",
    "hostnameincertificate",
    "ipaddresspreference",
    "keepalive",
    "keepaliveinterval",
    "language",
    "lfconversion",
    "longasmax",
    "mars_connection",
    "maxlongvarcharsize",
    "maxvarcharsize",
    "multisubnetfailover",
    "network",
    "port",
    "protocol",
    "readonly",
    "server",
    "servercertificate",
    "servername",
    "serverspn",
    "sslmode",
    "trusted_connection",
    "trustservercertificate",
    "uid",
    "unknownsizes",
    "user",
    "username",
    "useserversideprepare",
    "wsid",
];

/// Attributes whose values are secrets or may hold some.
const SECRET: [&str; 9] =
    ["accesstoken", "clientkey", "connsettings", "keystoresecret", "password", "pqopt", "pwd", "secret", "sslpassword"];

/// Whether a message may name this attribute, whose name is in lower case. Any other may be a part of a password.
pub(super) fn may_be_named(key: &str) -> bool {
    HARMLESS.contains(&key) || SECRET.contains(&key)
}

/// Options of libpq for psqlODBC, by which the system ends a silent connection: after two minutes without an answer when idle,
/// after one when data was sent. The Microsoft driver does so by itself (`KeepAlive`).
pub(super) const SILENCE_ENDS: &str =
    "keepalives_idle=60 keepalives_interval=20 keepalives_count=3 tcp_user_timeout=60000";
