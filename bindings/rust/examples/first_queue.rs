//! A queue from its description to its end: it is installed, gets an item, and is worked on until nothing is left.
use readpast::{Action, Columns, Config, NewItem, Queue, QueueSpec, Settlement};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::new();
    config.set("connection", &std::env::var("READPAST_CONNECTION").unwrap_or_default())?;
    let spec = QueueSpec::from_json(r#"{"queue": "Mail", "columns": [{"name": "Recipient", "type": "text(254)"}]}"#)?;
    readpast::install(&config, Some(&spec))?; // the second time it changes nothing
    let queue = Queue::open(&config, "Mail")?;
    let columns = Columns::from_iter([("Recipient", "a@example.org")]);
    queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None)?;

    loop {
        let batch = queue.claim(1, Duration::ZERO)?;
        let Some(item) = batch.get(0) else { return Ok(()) };
        println!("work on {}", item.to_json());
        queue.settle(&[Settlement::new(&item, Action::Complete)], None)?;
    }
}
