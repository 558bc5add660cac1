//! A scripted TDS 7.4 server for tests against the real Microsoft driver.
//!
//! No SQL Server runs in CI, but the driver does. A [`Peer`] is what it talks to: a server without
//! a database, which hands every request to the test's closure and sends what that answers. It is
//! built from the MS-TDS specification; the modules name the sections.
//!
//! ```ignore
//! let peer = Peer::start(|request| match request.sql() {
//!     "SELECT 1" => Answer::new().scalar("one", Type::Int, 1).into(),
//!     _ => Reply::default(),
//! });
//! let connection = environment().connect_with_connection_string(&peer.connection_string(), ..);
//! ```

mod answer;
mod codec;
mod connection;
mod datetime2;
mod decode;
mod driver;
mod login;
mod message;
mod packet;
mod record;
mod reply;
mod request;
mod server;
mod session;
mod token;
mod transaction;
mod types;
mod value;
mod wire;

pub use answer::Answer;
pub use datetime2::DateTime2;
pub use login::Login;
pub use message::ServerMessage;
pub use record::Event;
pub use reply::{LoginReply, Reply};
pub use request::{Call, Param, Request, TransactionCall};
pub use server::{Peer, Script};
pub use types::Type;
pub use value::Value;
