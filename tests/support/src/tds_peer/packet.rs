//! Packets and messages: a message is split over packets of at most the negotiated size, each with
//! an eight byte header (MS-TDS 2.2.3.1, "Packet Header").

use std::io::{self, Read};

use super::wire::malformed;

/// The packet types of MS-TDS 2.2.3.1.1.
pub mod kind {
    pub const SQL_BATCH: u8 = 0x01;
    pub const RPC: u8 = 0x03;
    /// Every answer of a server, the one to the pre-login included.
    pub const TABULAR_RESULT: u8 = 0x04;
    pub const ATTENTION: u8 = 0x06;
    pub const TRANSACTION_MANAGER: u8 = 0x0E;
    pub const LOGIN7: u8 = 0x10;
    pub const PRELOGIN: u8 = 0x12;
}

/// Status bits of MS-TDS 2.2.3.1.2.
const END_OF_MESSAGE: u8 = 0x01;
const IGNORE_THIS_EVENT: u8 = 0x02;
const RESET_CONNECTION: u8 = 0x08;
const RESET_CONNECTION_KEEP_TRANSACTION: u8 = 0x10;

const HEADER: usize = 8;

/// One message of the client, its packets joined.
pub struct Message {
    pub kind: u8,
    /// The client asked for the session to be reset first (pooled connections do).
    pub reset: bool,
    /// The client took the message back half-way: it must be answered, but not executed.
    pub ignore: bool,
    pub body: Vec<u8>,
}

/// Reads one message; an unexpected end of the stream is an error, also between messages.
pub fn read_message(stream: &mut impl Read) -> io::Result<Message> {
    let mut message = Message { kind: 0, reset: false, ignore: false, body: Vec::new() };
    loop {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header)?;
        let [kind, status, length_high, length_low, ..] = header;
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        let payload = length.checked_sub(HEADER).ok_or_else(|| malformed(format!("a packet of {length} bytes")))?;

        let start = message.body.len();
        message.body.resize(start + payload, 0);
        stream.read_exact(&mut message.body[start..])?;
        message.kind = kind;
        message.reset |= status & (RESET_CONNECTION | RESET_CONNECTION_KEEP_TRANSACTION) != 0;
        message.ignore |= status & IGNORE_THIS_EVENT != 0;
        if status & END_OF_MESSAGE != 0 {
            return Ok(message);
        }
    }
}

/// The packets of one answer, ready for the socket. An empty answer is still one packet.
pub fn answer_packets(body: &[u8], packet_size: usize) -> Vec<u8> {
    packets(body, packet_size, END_OF_MESSAGE)
}

/// The packets of the beginning of an answer, after which more packets are to come.
pub fn unfinished_packets(body: &[u8], packet_size: usize) -> Vec<u8> {
    packets(body, packet_size, 0)
}

fn packets(body: &[u8], packet_size: usize, last_status: u8) -> Vec<u8> {
    let payload = packet_size - HEADER;
    let count = body.len().div_ceil(payload).max(1);
    let mut packets = Vec::with_capacity(body.len() + count * HEADER);
    for index in 0..count {
        let chunk = &body[index * payload..body.len().min((index + 1) * payload)];
        let last = index + 1 == count;
        let length = u16::try_from(chunk.len() + HEADER).expect("a packet is under 64 KiB");
        packets.extend([kind::TABULAR_RESULT, if last { last_status } else { 0 }]);
        packets.extend(length.to_be_bytes());
        // SPID (unused), packet number (wraps, 2.2.3.1.5), window (always 0).
        packets.extend([0, 0, (index + 1) as u8, 0]);
        packets.extend(chunk);
    }
    packets
}
