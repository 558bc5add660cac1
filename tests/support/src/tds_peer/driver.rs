//! Pointing the Microsoft driver at a peer.

use std::path::PathBuf;

use super::server::Peer;

const DRIVER: &str = "ODBC Driver 18 for SQL Server";

impl Peer {
    /// The connection string for this peer. Panics if the driver is not registered: a test that
    /// skips itself proves nothing.
    pub fn connection_string(&self) -> String {
        assert_driver_is_registered();
        let port = self.port();
        format!("Driver={{{DRIVER}}};Server=tcp:127.0.0.1,{port};Uid=sa;Pwd=x;Encrypt=no;")
    }
}

/// Looks where unixODBC looks: `$ODBCSYSINI/odbcinst.ini`, else the system's.
fn assert_driver_is_registered() {
    let folder = std::env::var_os("ODBCSYSINI").map_or_else(|| "/etc".into(), PathBuf::from);
    let file = folder.join("odbcinst.ini");
    let registered = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        registered.lines().any(|line| line.trim() == format!("[{DRIVER}]")),
        "`{DRIVER}` is not registered in {}: run .ci/setup.sh and set ODBCSYSINI to its \
         .local/odbc (`make test` does both)",
        file.display()
    );
}
