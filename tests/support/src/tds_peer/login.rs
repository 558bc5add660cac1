//! The opening of a connection: PRELOGIN (MS-TDS 2.2.6.5), LOGIN7 (2.2.6.4) and the tokens that
//! accept or refuse it (2.2.7.14, LOGINACK).

use std::io;
use std::time::Instant;

use super::message::ServerMessage;
use super::token::{Done, EnvChange, status, write_done};
use super::wire::{Put, Reader, malformed};

/// SQL Server 2022.
const SERVER_VERSION: [u8; 4] = [16, 0, 0x10, 0x19];

/// The packet size before a login settles it.
pub const INITIAL_PACKET_SIZE: usize = 4096;

const SESSION_RECOVERY: u8 = 0x01;
const FEATURES_END: u8 = 0xFF;

/// The client's description of itself. The password is not kept.
#[derive(Clone, Debug)]
pub struct Login {
    pub connection: usize,
    pub at: Instant,
    pub host: String,
    pub user: String,
    pub has_password: bool,
    pub application: String,
    pub server: String,
    pub library: String,
    /// Empty if the client leaves the choice to the server.
    pub database: String,
    /// The size that the client asks for, or the peer's choice if it leaves that open (0).
    pub packet_size: usize,
    /// The feature numbers the client offers (2.2.6.4, `FeatureExt`).
    pub features: Vec<u8>,
}

/// The answer to a pre-login: no encryption at all, no MARS.
pub fn prelogin_answer() -> Vec<u8> {
    const ENCRYPT_NOT_SUP: u8 = 0x02;
    let options: [(u8, &[u8]); 5] = [
        (0x00, &[SERVER_VERSION[0], SERVER_VERSION[1], SERVER_VERSION[2], SERVER_VERSION[3], 0, 0]),
        (0x01, &[ENCRYPT_NOT_SUP]),
        (0x02, &[0]), // INSTOPT: the instance name is right.
        (0x03, &[]),  // THREADID: only clients have one.
        (0x04, &[0]), // MARS: off.
    ];
    let (mut table, mut data) = (Vec::new(), Vec::new());
    let table_length = options.len() * 5 + 1;
    for (token, bytes) in options {
        table.put_u8(token);
        table.put_bytes(&((table_length + data.len()) as u16).to_be_bytes());
        table.put_bytes(&(bytes.len() as u16).to_be_bytes());
        data.put_bytes(bytes);
    }
    table.put_u8(0xFF);
    table.put_bytes(&data);
    table
}

impl Login {
    /// Reads a LOGIN7 message.
    pub fn read(body: &[u8], connection: usize) -> io::Result<Login> {
        Ok(Login {
            connection,
            at: Instant::now(),
            packet_size: packet_size(at(body, 8)?.u32()? as usize),
            host: text_at(body, 36)?,
            user: text_at(body, 40)?,
            has_password: at(body, 46)?.u16()? != 0,
            application: text_at(body, 48)?,
            server: text_at(body, 52)?,
            library: text_at(body, 60)?,
            database: text_at(body, 68)?,
            features: features(body)?,
        })
    }

    fn database_or_default(&self) -> &str {
        if self.database.is_empty() { "master" } else { &self.database }
    }

    /// Whether the client offers to restore broken connections by itself ("connection resiliency").
    pub fn offers_recovery(&self) -> bool {
        self.features.contains(&SESSION_RECOVERY)
    }

    /// The tokens that accept the login, and with `recovery` the offer to restore the session.
    pub fn accepted(&self, recovery: bool) -> Vec<u8> {
        let database = self.database_or_default();
        let mut out = Vec::new();
        EnvChange::Database { new: database, old: "master" }.write(&mut out);
        ServerMessage::info(5701, format!("Changed database context to '{database}'.")).state(2).write(&mut out);
        EnvChange::Collation.write(&mut out);
        EnvChange::Language("us_english").write(&mut out);
        ServerMessage::info(5703, "Changed language setting to us_english.").write(&mut out);
        write_login_ack(&mut out);
        EnvChange::PacketSize { new: self.packet_size, old: INITIAL_PACKET_SIZE }.write(&mut out);
        if recovery && self.offers_recovery() {
            write_recovery_ack(&mut out);
        }
        write_done(&mut out, Done::Statement, 0, None);
        out
    }
}

/// The tokens that refuse a login.
pub fn refused(message: &ServerMessage) -> Vec<u8> {
    let mut out = Vec::new();
    message.write(&mut out);
    write_done(&mut out, Done::Statement, status::ERROR, None);
    out
}

fn write_login_ack(out: &mut Vec<u8>) {
    let mut body = vec![1]; // Interface: T-SQL.
    body.put_bytes(&[0x74, 0x00, 0x00, 0x04]); // TDS 7.4
    body.put_b_varchar("Microsoft SQL Server");
    body.put_bytes(&SERVER_VERSION);
    out.put_u8(0xAD);
    out.put_u16(body.len() as u16);
    out.put_bytes(&body);
}

fn packet_size(wanted: usize) -> usize {
    if wanted == 0 { INITIAL_PACKET_SIZE } else { wanted.clamp(512, 32767) }
}

/// FEATUREEXTACK (2.2.7.11) for session recovery, with no initial state to restore.
fn write_recovery_ack(out: &mut Vec<u8>) {
    out.put_bytes(&[0xAE, SESSION_RECOVERY]);
    out.put_u32(0);
    out.put_u8(FEATURES_END);
}

/// A reader over `body` from `offset` on.
fn at(body: &[u8], offset: usize) -> io::Result<Reader<'_>> {
    let rest = body.get(offset..).ok_or_else(|| malformed("a LOGIN7 that ends too early"))?;
    Ok(Reader::new(rest))
}

/// The text whose offset and length stand at `entry` of LOGIN7's table.
fn text_at(body: &[u8], entry: usize) -> io::Result<String> {
    let mut entry = at(body, entry)?;
    let (offset, units) = (entry.u16()?, entry.u16()?);
    at(body, usize::from(offset))?.text(usize::from(units))
}

/// The numbers in FeatureExt, found by way of the extension entry if `OptionFlags3` says so.
fn features(body: &[u8]) -> io::Result<Vec<u8>> {
    const HAS_EXTENSION: u8 = 0x10;
    let mut features = Vec::new();
    if at(body, 27)?.u8()? & HAS_EXTENSION == 0 {
        return Ok(features);
    }
    let extension = at(body, 56)?.u16()?;
    let list = at(body, usize::from(extension))?.u32()?;
    let mut list = at(body, list as usize)?;
    loop {
        match list.u8()? {
            FEATURES_END => return Ok(features),
            feature => features.push(feature),
        }
        let length = list.u32()?;
        list.bytes(length as usize)?;
    }
}
