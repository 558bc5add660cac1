//! The smallest worker: it claims items, works on them and settles them, again and again.
use readpast::{Config, Queue, Worker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::new();
    config.set("connection", &std::env::var("READPAST_CONNECTION").unwrap_or_default())?;
    let queue = Queue::open(&config, "Notification")?;
    Worker::new(&queue).run(|job| println!("{}", job.item().to_json()))?; // the work
    Ok(())
}
