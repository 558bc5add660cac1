//! The connections: how many, for how long, and how much they may send.

use super::answer::Answer;
use super::paced::Paced;
use super::request::{Request, leads_elsewhere};
use super::slots::{Slot, Slots};
use super::turns::Turns;
use super::{App, alert, routes};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::note;
use crate::registry;
use crate::signals::Stop;
use http_body_util::{BodyExt, Limited};
use hyper::Method;
use hyper::body::{Bytes, Incoming};
use hyper::header::TRANSFER_ENCODING;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;

/// How many connections may listen to events.
const MOST_LISTENERS: usize = 192;
/// Calls to the database at a time, and requests that wait for one.
const MOST_CALLS: usize = 8;
const MOST_WAITING: usize = 64;
/// Answers from memory at a time.
const MOST_READS: usize = 2;
/// The longest request line with its headers, and the longest form: it brings each key that fits an address with its token.
const MOST_HEAD: usize = 32 * 1024;
const MOST_FORM: usize = 128 * 1024;
/// How long a client may take for its headers or its form.
const SLOWEST: Duration = Duration::from_secs(10);
/// How long a connection may last, whatever it does: a browser that listens to events comes again by itself.
const LONGEST: Duration = Duration::from_secs(600);
/// How long it may last without a request that was admitted: a stranger who reads a byte now and then goes too.
const LONGEST_UNKNOWN: Duration = Duration::from_secs(30);
/// A delay for clients that guess tokens.
const PENALTY: Duration = Duration::from_millis(500);

/// State that all connections share.
struct Shared {
    app: Arc<App>,
    /// The number of the latest figures.
    news: watch::Receiver<u64>,
    calls: Turns,
    reads: Turns,
    listeners: Arc<Semaphore>,
}

/// Serves until a signal comes, and says which.
pub fn serve(
    app: Arc<App>,
    rules: Option<alert::Rules>,
    address: SocketAddr,
    stop: &Stop,
    ready: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<u8> {
    let cannot = |what: &str, error: &std::io::Error| Failure::Partly(format!("{what}: {error}"), Exit::Unavailable);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(MOST_CALLS + MOST_READS)
        .build()
        .map_err(|error| cannot("no threads to serve with", &error))?;
    let (tell, news) = watch::channel(0);
    let (calls, reads) = (Turns::new(MOST_CALLS, MOST_WAITING), Turns::new(MOST_READS, MOST_WAITING));
    let listeners = Arc::new(Semaphore::new(MOST_LISTENERS));
    let shared = Arc::new(Shared { app: Arc::clone(&app), news, calls, reads, listeners });
    let signal = runtime.block_on(async {
        let listener =
            TcpListener::bind(address).await.map_err(|error| cannot(&format!("cannot listen on {address}"), &error))?;
        let bound = listener.local_addr().map_err(|error| cannot("no address", &error))?;
        let watched = Arc::clone(&app);
        registry::watch(&app.queues, (app.every, app.most), stop.clone(), move || {
            tell.send_modify(|number| *number += 1);
            if watched.acts {
                watched.runner.look(&watched);
            }
        })
        .map_err(|error| cannot("no thread to look with", &error))?;
        if let Some(rules) = rules {
            alert::watch(&app, rules, stop.clone()).map_err(|error| cannot("no thread for alerts", &error))?;
        }
        ready(bound)?;
        let slots = Slots::new(app.auth.has_proxy());
        loop {
            if let Some(signal) = stop.signal() {
                return Ok(signal);
            }
            // A signal is noticed within this time.
            let next = timeout(Duration::from_millis(200), listener.accept());
            let Ok(accepted) = next.await else { continue };
            match accepted {
                Ok((stream, from)) => {
                    let slot = Arc::new(slots.enter(from.ip()));
                    let talk = converse(stream, from.ip(), Arc::clone(&slot), Arc::clone(&shared));
                    slot.ends_by(tokio::spawn(talk).abort_handle());
                }
                Err(error) => {
                    // Out of descriptors, say: others may give some back.
                    note(&format!("a connection was not accepted: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    });
    // Requests under way are cut off; calls to the database end by themselves.
    runtime.shutdown_timeout(Duration::from_secs(1));
    signal
}

/// One connection, from its first request to its last.
async fn converse(stream: TcpStream, from: IpAddr, slot: Arc<Slot>, shared: Arc<Shared>) {
    let of_answers = Arc::clone(&slot);
    let service = hyper::service::service_fn(move |request| {
        let (shared, slot) = (Arc::clone(&shared), Arc::clone(&of_answers));
        async move { Ok::<_, Infallible>(decide(&shared, from, &slot, request).await.into_response()) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SLOWEST)
        .max_buf_size(MOST_HEAD)
        .serve_connection(TokioIo::new(Paced::new(stream)), service);
    let mut connection = pin!(connection);
    // A client that breaks off, or breaks the protocol, has its answer from hyper.
    if timeout(LONGEST_UNKNOWN, connection.as_mut()).await.is_err() && slot.is_known() {
        let _ = timeout(LONGEST, connection).await;
    }
}

async fn decide(shared: &Shared, from: IpAddr, slot: &Slot, request: hyper::Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let auth = &shared.app.auth;
    if !auth.knows_host(&head.headers) {
        return Answer::last(421, "This server does not answer to this host name: --host names others.");
    }
    let posts = head.method == Method::POST;
    if !posts && head.method != Method::GET && head.method != Method::HEAD {
        return Answer::last(405, "This server takes GET, HEAD and POST.").with("allow", "GET, HEAD, POST");
    }
    if head.headers.contains_key(TRANSFER_ENCODING) {
        // A proxy and we might see its end in different places, and what follows as another's request.
        return Answer::last(411, "This server takes bodies with a Content-Length.");
    }
    let path = head.uri.path();
    if leads_elsewhere(path) {
        return Answer::last(400, "No address here begins with two slashes, and none has a backslash.");
    }
    if path == "/health/live" {
        return Answer::new(200, super::answer::TEXT, "alive\n");
    }
    let right = match auth.admits(&head.headers) {
        Ok(right) => right,
        Err(refusal) => {
            tokio::time::sleep(PENALTY).await;
            return refusal;
        }
    };
    slot.know();
    if !auth.admits_page(&head.headers) {
        return Answer::refusal(403, "Other sites may link to this server, and no more.");
    }
    if path == "/events" && !posts {
        let many = || Answer::last(503, "Too many listen already.");
        let Ok(permit) = Arc::clone(&shared.listeners).try_acquire_owned() else { return many() };
        return if slot.listen() { Answer::events(events(shared.news.clone(), permit)) } else { many() };
    }
    let form = if posts {
        let read = timeout(SLOWEST, Limited::new(body, MOST_FORM).collect()).await;
        match read {
            Ok(Ok(bytes)) => Some(String::from_utf8_lossy(&bytes.to_bytes()).into_owned()),
            Ok(Err(_)) => return Answer::last(413, "The form is too large."),
            Err(_) => return Answer::last(408, "The form took too long."),
        }
    } else {
        None
    };
    let who = auth.names(&head.headers, from);
    let request = Request::new(&head.uri, head.headers, form.as_deref(), (who, right));
    let turns = if routes::needs_database(&request) { &shared.calls } else { &shared.reads };
    let Some(turn) = turns.take().await else {
        return Answer::refusal(503, "Too many wait for an answer already.").with("retry-after", "5");
    };
    let app = Arc::clone(&shared.app);
    let answered = tokio::task::spawn_blocking(move || {
        // It ends with the work, and not with a client that hangs up.
        let _turn = turn;
        routes::route(&app, &request)
    });
    let answered = answered.await;
    answered.unwrap_or_else(|_| Answer::refusal(500, "Something went wrong here; its log says what."))
}

/// A line whenever there are new figures.
fn events(mut news: watch::Receiver<u64>, permit: OwnedSemaphorePermit) -> mpsc::Receiver<Bytes> {
    let (send, events) = mpsc::channel(4);
    tokio::spawn(async move {
        let _permit = permit;
        let mut line = Bytes::from_static(b"retry: 3000\n\n");
        while send.send(line).await.is_ok() {
            line = match timeout(Duration::from_secs(15), news.changed()).await {
                Ok(Ok(())) => Bytes::from(format!("event: figures\ndata: {}\n\n", *news.borrow_and_update())),
                Ok(Err(_)) => return,
                // So that it is noticed when nobody listens any more.
                Err(_) => Bytes::from_static(b": still here\n\n"),
            };
        }
    });
    events
}
