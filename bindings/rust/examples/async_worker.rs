//! A worker whose handlers are futures: they run on the program's tokio runtime, beside its pools, a hundred at once.
use readpast::worker::AsyncJob;
use readpast::{Config, Queue, Worker};
use std::time::Duration;

/// The work itself, of which this program only pretends.
async fn send(job: AsyncJob) -> Result<(), &'static str> {
    let to = job.text("Recipient").ok_or("there is no recipient")?;
    tokio::time::sleep(Duration::from_millis(10)).await;
    println!("mail to {to}");
    Ok(())
}

/// Works until nothing is due.
pub async fn work(queue: &Queue) -> readpast::Result<()> {
    let worker = Worker::new(queue).threads(100).stop_timeout(Duration::from_secs(30)).until_empty(true);
    worker.run_async(send).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::new();
    config.set("connection", &std::env::var("READPAST_CONNECTION").unwrap_or_default())?;
    let queue = tokio::task::spawn_blocking(move || Queue::open(&config, "Mail")).await??;
    work(&queue).await?;
    Ok(())
}
