//! The conversation with one client, from its pre-login to its end.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::decode::{read_batch, read_headers, read_rpcs, read_transaction_call};
use super::login::{INITIAL_PACKET_SIZE, Login, prelogin_answer, refused};
use super::packet::{Message, answer_packets, kind, read_message, unfinished_packets};
use super::record::Event;
use super::reply::{Action, LoginReply};
use super::request::{Call, Request};
use super::server::Shared;
use super::session::Session;
use super::token::{Done, EnvChange, status, write_done};
use super::wire::{Reader, malformed};

/// One client's connection.
pub struct Connection<'s> {
    number: usize,
    stream: TcpStream,
    shared: &'s Shared,
    session: Session,
    packet_size: usize,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Listen,
    HangUp,
}

/// The end of a wait.
enum Waited {
    TimeIsUp,
    Attention,
    Gone,
}

/// A script that panics ends its connection too, or the client would wait for an answer in vain.
impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // Gone already, if the client or the end of the test was faster.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl<'s> Connection<'s> {
    pub fn new(number: usize, stream: TcpStream, shared: &'s Shared) -> Self {
        let session = Session::default();
        Connection { number, stream, shared, session, packet_size: INITIAL_PACKET_SIZE }
    }

    /// Talks until either side has had enough. The error is that of a client which does not speak
    /// as expected; a client that went away is none.
    pub fn run(mut self) -> io::Result<()> {
        let at = Instant::now();
        self.shared.record.push(Event::Connected { connection: self.number, at });
        let outcome = self.converse();
        // Gone already, if the client or the end of the test was faster.
        let _ = self.stream.shutdown(Shutdown::Both);
        let at = Instant::now();
        self.shared.record.push(Event::Closed { connection: self.number, at });
        outcome.or_else(|error| match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        })
    }

    fn converse(&mut self) -> io::Result<()> {
        loop {
            let message = read_message(&mut self.stream)?;
            if self.handle(message)? == Next::HangUp {
                return Ok(());
            }
        }
    }

    fn handle(&mut self, message: Message) -> io::Result<Next> {
        match message.kind {
            kind::PRELOGIN => {
                self.send(&prelogin_answer())?;
                Ok(Next::Listen)
            }
            kind::LOGIN7 => self.log_in(&message.body),
            kind::ATTENTION => {
                self.attend(false)?;
                Ok(Next::Listen)
            }
            _ if message.ignore => Err(malformed("the peer does not do cancelled requests")),
            _ => self.serve(message),
        }
    }

    fn log_in(&mut self, body: &[u8]) -> io::Result<Next> {
        let login = Login::read(body, self.number)?;
        self.shared.record.push(Event::Login(login.clone()));
        match (self.shared.on_login)(&login) {
            LoginReply::Accept => {
                self.send(&login.accepted(self.shared.session_recovery))?;
                self.packet_size = login.packet_size;
                Ok(Next::Listen)
            }
            LoginReply::Refuse(message) => {
                self.send(&refused(&message))?;
                Ok(Next::HangUp)
            }
            LoginReply::Cut => Ok(Next::HangUp),
            LoginReply::Silence => self.be_deaf(),
        }
    }

    /// Every call of the message goes to the script. Their answers leave as one message, except
    /// that anything but an answer ends it.
    fn serve(&mut self, message: Message) -> io::Result<Next> {
        let mut out = Vec::new();
        if message.reset {
            self.session.reset();
            EnvChange::ConnectionReset.write(&mut out);
        }
        let mut reader = Reader::new(&message.body);
        let transaction = read_headers(&mut reader)?;
        let mut calls = self.calls(message.kind, &mut reader)?.into_iter().peekable();
        while let Some(call) = calls.next() {
            let request =
                Request { connection: self.number, at: Instant::now(), reset: message.reset, transaction, call };
            self.shared.record.push(Event::Request(request.clone()));
            let reply = (self.shared.on_request)(&request);
            match self.wait(Some(reply.delay))? {
                Waited::TimeIsUp => {}
                Waited::Attention => return Ok(Next::Listen),
                Waited::Gone => return Ok(Next::HangUp),
            }
            let more = calls.peek().is_some();
            match reply.action {
                Action::Answer(answer) => {
                    out.extend(self.session.answer(&request.call, answer, more));
                }
                other => return self.misbehave(other, &request.call, out),
            }
        }
        self.send(&out)?;
        Ok(Next::Listen)
    }

    fn calls(&mut self, kind: u8, reader: &mut Reader<'_>) -> io::Result<Vec<Call>> {
        match kind {
            kind::SQL_BATCH => Ok(vec![Call::Batch { sql: read_batch(reader)? }]),
            kind::TRANSACTION_MANAGER => Ok(vec![Call::Transaction(read_transaction_call(reader)?)]),
            kind::RPC => {
                let rpcs = read_rpcs(reader)?;
                rpcs.into_iter().map(|rpc| self.session.understand(rpc)).collect()
            }
            other => Err(malformed(format!("the peer does not speak packets of type {other:#04x}"))),
        }
    }

    fn misbehave(&mut self, action: Action, call: &Call, mut out: Vec<u8>) -> io::Result<Next> {
        match action {
            Action::Answer(_) => unreachable!("an answer is no misbehaviour"),
            Action::CutBefore => Ok(Next::HangUp),
            Action::CutAfter(answer) => {
                out.extend(self.session.answer(call, answer, false));
                let packets = answer_packets(&out, self.packet_size);
                self.stream.write_all(&packets)?;
                Ok(Next::HangUp)
            }
            Action::CutInside { answer, bytes } => {
                out.extend(self.session.answer(call, answer, false));
                let packets = answer_packets(&out, self.packet_size);
                self.stream.write_all(&packets[..bytes.min(packets.len() - 1)])?;
                Ok(Next::HangUp)
            }
            Action::StallAfter(answer) => {
                out.extend(answer.unfinished_tokens());
                self.stream.write_all(&unfinished_packets(&out, self.packet_size))?;
                self.be_silent()
            }
            Action::Silence => self.be_silent(),
            Action::Deaf => self.be_deaf(),
        }
    }

    fn be_silent(&mut self) -> io::Result<Next> {
        match self.wait(None)? {
            Waited::Attention => Ok(Next::Listen),
            Waited::TimeIsUp | Waited::Gone => Ok(Next::HangUp),
        }
    }

    /// Takes note of what still comes, until the client goes away.
    fn be_deaf(&mut self) -> io::Result<Next> {
        loop {
            if read_message(&mut self.stream)?.kind == kind::ATTENTION {
                self.note_attention(true);
            }
        }
    }

    /// Waits with an eye on the socket: a client that waits for an answer sends nothing but an
    /// attention, which is acknowledged here.
    fn wait(&mut self, limit: Option<Duration>) -> io::Result<Waited> {
        if limit == Some(Duration::ZERO) {
            return Ok(Waited::TimeIsUp);
        }
        self.stream.set_read_timeout(limit)?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(None)?;
        match peeked {
            Ok(0) => Ok(Waited::Gone),
            Ok(_) => match read_message(&mut self.stream)?.kind {
                kind::ATTENTION => self.attend(true).map(|()| Waited::Attention),
                other => Err(malformed(format!("a packet of type {other:#04x} while waiting"))),
            },
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(Waited::TimeIsUp),
            Err(error) => Err(error),
        }
    }

    /// Acknowledges an attention (MS-TDS 2.2.1.7): DONE with `DONE_ATTN`.
    fn attend(&mut self, pending: bool) -> io::Result<()> {
        self.note_attention(pending);
        let mut out = Vec::new();
        write_done(&mut out, Done::Statement, status::ATTENTION, None);
        self.send(&out)
    }

    fn note_attention(&self, pending: bool) {
        let at = Instant::now();
        self.shared.record.push(Event::Attention { connection: self.number, at, pending });
    }

    fn send(&mut self, body: &[u8]) -> io::Result<()> {
        self.stream.write_all(&answer_packets(body, self.packet_size))
    }
}
