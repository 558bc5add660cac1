//! The cost of limits by key: claim(10) of a queue that allows ten of each tenant in work, against the same queue without limits; and
//! with a tenant of 1,000,000 waiting items that has no room, against the same without that tenant.
//!
//! Why: a tenant that may begin nothing has to cost what one costs that has nothing, or the largest tenant slows all others down.
//!
//! How to read it: the claims of the three queues take turns in one run; a figure is the median time of a claim, and the ratios are of
//! the medians.

mod common;

use common::{Server, median, show, verdict};
use readpast::item::{Action, Batch, Columns, NewItem, Settlement};
use readpast::queue::Queue;
use readpast::{QueueSpec, install};
use serde_json::json;
use std::time::{Duration, Instant};

const CLAIM: u32 = 10;
const ROUNDS: u32 = 201;
const TENANTS: u32 = 100;
const AT_ONCE: u32 = 10;

fn main() {
    Server::each("limits", |server| {
        let [plain, limited, blocked] = ["Plain", "Limited", "Blocked"].map(|name| open(server, name));
        let begun = Instant::now();
        server.fill("Blocked", "Pending", 2001, server.scaled(1_000_000));
        println!("  filled in {}", show(begun.elapsed()));
        let rounds = server.scaled(ROUNDS).max(41);
        for queue in [&plain, &limited, &blocked] {
            let each = (rounds + 2) * CLAIM / TENANTS + 1;
            let items: Vec<_> = (0..each * TENANTS).map(|n| item(1 + n % TENANTS)).collect();
            for part in items.chunks(1000) {
                queue.enqueue(part, None).unwrap();
            }
        }
        for name in ["Plain", "Limited", "Blocked"] {
            server.settle_down(name);
        }
        // All that the tenant may have in work is.
        let mut held = 0;
        while held < AT_ONCE {
            let batch = blocked.claim(CLAIM, Duration::ZERO).unwrap();
            let (mine, others): (Vec<_>, Vec<_>) =
                batch.iter().partition(|item| item.value_of("Tenant") == Some(readpast::Value::Integer(0)));
            held += u32::try_from(mine.len()).unwrap();
            let ends: Vec<_> = others.iter().map(|item| Settlement::new(item, Action::Release)).collect();
            if !ends.is_empty() {
                blocked.settle(&ends, None).unwrap();
            }
        }

        let times: Vec<_> = (0..rounds).map(|_| [&plain, &limited, &blocked].map(claim)).collect();
        let [plain, limited, blocked] = [0, 1, 2].map(|at| median(times.iter().map(|round| round[at]).collect()));
        let show = |seconds| show(Duration::from_secs_f64(seconds));
        println!(
            "  claim({CLAIM}): {} without limits, {} with, {} beside a tenant without room",
            show(plain),
            show(limited),
            show(blocked)
        );
        let ratio = blocked / limited;
        verdict("a tenant of 1,000,000 without room, against none", &format!("{ratio:.2} x"), "<= 1.2 x", ratio <= 1.2);
        println!("  limits against none: {:.2} x", limited / plain);
    });
}

fn open(server: &Server, name: &str) -> Queue {
    let mut spec = json!({
        "queue": name,
        "columns": [
            {"name": "Payload", "type": "text"}, {"name": "Tenant", "type": "integer", "nullable": false, "default": 0}
        ],
    });
    if name != "Plain" {
        spec["limit"] = json!([{"by": "Tenant", "at_once": AT_ONCE}]);
    }
    install(&server.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    server.open(name, &[("recover.interval_ms", "3600000")])
}

fn item(tenant: u32) -> NewItem {
    let columns = json!({"Tenant": tenant});
    NewItem { columns: Columns::from_json(&columns.to_string()).unwrap(), ..NewItem::default() }
}

/// The seconds that a claim takes; its items end.
fn claim(queue: &Queue) -> f64 {
    let begun = Instant::now();
    let batch: Batch = queue.claim(CLAIM, Duration::ZERO).unwrap();
    let time = begun.elapsed();
    assert_eq!(batch.len(), CLAIM as usize);
    let ends: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
    queue.settle(&ends, None).unwrap();
    time.as_secs_f64()
}
