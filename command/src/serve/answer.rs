//! Answers to requests.

use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Nothing from elsewhere, nothing inline, nobody around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer. The referrer stays within: with none at all browsers would hide where a form comes from.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

pub const HTML: &str = "text/html; charset=utf-8";
pub const JSON: &str = "application/json";
pub const TEXT: &str = "text/plain; charset=utf-8";

/// An answer to a request.
pub struct Answer {
    status: u16,
    kind: &'static str,
    more: Vec<(&'static str, String)>,
    content: Content,
}

/// The body of an answer.
pub enum Content {
    Whole(Option<Bytes>),
    /// Server-sent events, as they come.
    Events(mpsc::Receiver<Bytes>),
}

impl Answer {
    pub fn new(status: u16, kind: &'static str, text: impl Into<Bytes>) -> Self {
        Self { status, kind, more: Vec::new(), content: Content::Whole(Some(text.into())) }
    }

    /// A no, and why.
    pub fn refusal(status: u16, why: &str) -> Self {
        Self::new(status, TEXT, format!("{why}\n"))
    }

    /// A no that ends the connection: who was refused comes with a new one.
    pub fn last(status: u16, why: &str) -> Self {
        Self::refusal(status, why).with("connection", "close")
    }

    /// Go there.
    pub fn see(place: &str) -> Self {
        Self::new(303, TEXT, "").with("location", place)
    }

    pub fn events(events: mpsc::Receiver<Bytes>) -> Self {
        Self { status: 200, kind: "text/event-stream", more: Vec::new(), content: Content::Events(events) }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    pub fn into_response(self) -> Response<Content> {
        let mut response = Response::builder().status(self.status).header("content-type", self.kind);
        for (name, value) in HEADERS {
            response = response.header(name, value);
        }
        for (name, value) in self.more {
            response = response.header(name, value);
        }
        // A value that cannot stand in a header takes the answer with it.
        response.body(self.content).unwrap_or_else(|_| {
            let mut failed = Response::new(Content::Whole(None));
            *failed.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
            failed
        })
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => events.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Self::Events(_) => hyper::body::SizeHint::default(),
        }
    }
}
