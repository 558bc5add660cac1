//! A server that does not answer: PostgreSQL behind a proxy.

use readpast::{Answer, ErrorKind, Queue, Verdict, Worker, worker::Event};
use std::sync::{Arc, Mutex};
use support::limit::{HOLDS, until};
use support::scratch::{Proxy, Scratch, changed, config, item};

#[test]
fn a_settle_whose_answer_is_lost_is_asked_for_again_until_it_is_known() {
    let scratch = Scratch::new();
    let connection = scratch.connection();
    let port = connection.split(';').find_map(|part| part.strip_prefix("Port=")).unwrap().parse().unwrap();
    let proxy = Proxy::to(port);
    let through = changed(&connection, &[("Port", &proxy.port.to_string())]);
    // The library itself tries but once, so that the worker has something to do.
    let settings = [("retry.budget_ms", "0"), ("pool.size", "2"), HOLDS];
    let queue = Queue::open(&config(&through, &settings), "Job").unwrap();
    scratch.open(&[]).enqueue(&[item("first"), item("second")], None).unwrap();

    let told = Arc::new(Mutex::new(Vec::new()));
    let worker = Worker::new(&queue);
    let stop = worker.stop_handle();
    let worker = worker.observe({
        let told = Arc::clone(&told);
        move |event| match event {
            Event::Trouble { error, .. } => told.lock().unwrap().push(Err(error.kind())),
            Event::Settled { outcomes, .. } => {
                let mut told = told.lock().unwrap();
                told.push(Ok(outcomes[0].answer));
                if told.iter().filter(|one| one.is_ok()).count() == 2 {
                    stop.stop();
                }
            }
            _ => {}
        }
    });
    worker
        .run(|job| {
            // Which call a fetcher makes next is its own affair: the answer that is lost is the one to this settlement.
            let is_second = job.text("Payload") == Some("second");
            if is_second {
                // The first is settled by then, in a call of its own.
                scratch.wait_for("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'", "1");
                proxy.lose_answer_to("the answer to this");
            }
            if is_second { Verdict::complete().response("the answer to this") } else { Verdict::complete() }
        })
        .unwrap();
    until("an answer was lost", || proxy.has_lost_it());
    let told = told.lock().unwrap();
    assert_eq!(*told, [Ok(Answer::Ok), Err(ErrorKind::OutcomeUnknown), Ok(Answer::Ok)], "done once, and known");
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'"), "2");
}

#[test]
fn a_server_that_is_away_is_waited_for() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("retry.budget_ms", "0"), ("poll.interval_ms", "10"), HOLDS]);
    queue.enqueue(&[item("a")], None).unwrap();
    let troubled = Arc::new(Mutex::new(false));
    let worker = Worker::new(&queue);
    let stop = worker.stop_handle();
    let worker = worker.observe({
        let (troubled, stop) = (Arc::clone(&troubled), stop.clone());
        move |event| match event {
            Event::Trouble { .. } => *troubled.lock().unwrap() = true,
            Event::Settled { .. } if *troubled.lock().unwrap() => stop.stop(),
            _ => {}
        }
    });
    std::thread::scope(|scope| {
        let run = scope.spawn(|| worker.run(|_| {}));
        scratch.wait_for("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'", "1");
        // Connections are looked at before they are used again: only one that ends in use fails a call.
        while !*troubled.lock().unwrap() {
            assert!(!run.is_finished(), "the worker goes on");
            scratch.terminate_connections();
        }
        scratch.open(&[]).enqueue(&[item("b")], None).unwrap();
        run.join().unwrap().unwrap();
    });
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'"), "2");
}
