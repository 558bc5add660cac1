//! PostgreSQL clusters, as the person who runs them: they die and come back.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Cluster {
    program: PathBuf,
    data: PathBuf,
    owner: String,
    /// The connection string of one that was made here, which goes with its folder.
    made: Option<String>,
}

impl Cluster {
    /// The cluster that `.ci/with_cluster.sh` made; `None` when the server at hand is somebody else's.
    pub fn at_hand() -> Option<Self> {
        Self::of(|name| env::var(name).ok(), None)
    }

    fn of(variable: impl Fn(&str) -> Option<String>, made: Option<String>) -> Option<Self> {
        let program = PathBuf::from(variable("READPAST_PG_BIN")?).join("pg_ctl");
        Some(Self { program, data: variable("READPAST_PG_DATA")?.into(), owner: variable("READPAST_PG_USER")?, made })
    }

    /// One more, which is stopped and cleared away with this object.
    pub fn new() -> Self {
        let script = |arguments: &[&str]| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/cluster.sh");
            let output = Command::new(path).args(arguments).stderr(Stdio::inherit()).output().unwrap();
            assert!(output.status.success(), "cluster.sh {arguments:?}: {}", output.status);
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let folder = script(&["start"]);
        let (url, settings) = (script(&["url", &folder]), script(&["env", &folder]));
        let value = |name: &str| {
            let pair = settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            pair.map(str::to_owned)
        };
        Self::of(value, Some(url)).expect("the script says how to reach it")
    }

    /// The connection string of one that was made here.
    pub fn connection(&self) -> &str {
        self.made.as_deref().expect("it was made here")
    }

    /// Kills the server, as a power cut would, and starts it again on its port.
    pub fn crash_and_return(&self) {
        self.control(&["stop", "--mode=immediate"]);
        self.control(&["start"]);
    }

    pub fn stop(&self) {
        self.control(&["stop", "--mode=fast"]);
    }

    pub fn start(&self) {
        self.control(&["start"]);
    }

    fn control(&self, arguments: &[&str]) {
        let is_owner = Command::new("id").arg("-un").output().unwrap().stdout.trim_ascii_end() == self.owner.as_bytes();
        let mut command = if is_owner {
            Command::new(&self.program)
        } else {
            let mut command = Command::new("runuser");
            command.args(["-u", &self.owner, "--"]).arg(&self.program);
            command
        };
        let log = self.data.with_file_name("log");
        command
            .args(arguments)
            .args(["--wait", "--timeout=600"])
            .arg("--silent")
            .arg("--pgdata")
            .arg(&self.data)
            .arg("--log")
            .arg(log);
        // The server would keep our output open, and a reader would wait for its end for ever.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        let status = command.status().unwrap();
        assert!(status.success(), "pg_ctl {arguments:?}: {status}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.made.is_some() {
            self.stop();
            fs::remove_dir_all(self.data.parent().unwrap()).unwrap();
        }
    }
}
