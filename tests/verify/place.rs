//! The scratch database, made and dropped on the server that the environment names.

use readpast::config::Config;
use readpast::for_tests::Session;
use readpast::item::{NewItem, Rows};
use readpast::queue::Queue;
use readpast::{QueueSpec, Result, install};

pub const QUEUE: &str = "Job";

/// Workers have a role of their own, so that one with EXECUTE alone can be tried.
const SPEC: &str = r#"{"queue": "Job", "columns": [{"name": "Payload", "type": "text(200)"}, {"name": "Reference", "type": "guid"}],
    "dedup": {"columns": ["Reference"]}, "roles": {"worker": "readpast_verify_worker"}}"#;

/// With how many shards the queue is tried besides.
pub const SHARDS: i32 = 8;

pub struct Place {
    server: String,
    name: String,
}

impl Place {
    /// Makes the database, and installs the queue in it.
    pub fn new(server: String) -> Result<Self> {
        let place = Self { server, name: format!("readpast_verify_{}", std::process::id()) };
        place.administer(&format!("CREATE DATABASE {}", place.name))?;
        place.execute("CREATE ROLE readpast_verify_worker")?;
        install::install(&place.config("installer")?, Some(&QueueSpec::from_json(SPEC)?))?;
        Ok(place)
    }

    /// Installs the queue again, of so many shards or of none.
    pub fn deal(&self, shards: Option<i32>) -> Result<()> {
        install::install(&self.config("installer")?, Some(&QueueSpec { shards, ..QueueSpec::from_json(SPEC)? }))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn config(&self, worker: &str) -> Result<Config> {
        let others = self.server.split(';').filter(|part| !part.trim().to_ascii_lowercase().starts_with("database="));
        let others: Vec<_> = others.filter(|part| !part.trim().is_empty()).collect();
        let mut config = Config::new();
        config.set("connection", &format!("{};Database={};", others.join(";"), self.name))?;
        config.set("worker", worker)?;
        Ok(config)
    }

    pub fn session(&self) -> Result<Session> {
        Session::open(&self.config("session")?)
    }

    pub fn queue(&self, worker: &str) -> Result<Queue> {
        Queue::open(&self.config(worker)?, QUEUE)
    }

    pub fn execute(&self, text: &str) -> Result<Rows> {
        self.session()?.execute(text, &[])
    }

    pub fn administer(&self, text: &str) -> Result<()> {
        let mut config = Config::new();
        config.set("connection", &self.server)?;
        Session::open(&config)?.execute(text, &[]).map(drop)
    }

    /// Enqueues so many items.
    pub fn fill(&self, count: usize) -> Result<()> {
        let columns = serde_json::json!({"Payload": "x".repeat(100)});
        let columns = columns.as_object().cloned().unwrap_or_default();
        let items: Vec<_> =
            (0..count).map(|_| NewItem { columns: columns.clone().into(), ..NewItem::default() }).collect();
        self.queue("producer")?.enqueue(&items, None).map(drop)
    }

    pub fn empty(&self) -> Result<()> {
        self.execute("DELETE FROM [readpast].[Job]").map(drop)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Pooled connections may still be open. Not every server knows the first statement.
        let _ = self.administer(&format!("ALTER DATABASE {} SET SINGLE_USER WITH ROLLBACK IMMEDIATE", self.name));
        if let Err(error) = self.administer(&format!("DROP DATABASE {}", self.name)) {
            eprintln!("the database {} is left: {error}", self.name);
        }
    }
}
