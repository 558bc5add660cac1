//! Long values, read piece by piece into the rows' arenas, with a check before each allocation whose size an item decides.

use super::unread::Unread;
use crate::item::{Cell, Rows, UndeliverableReason};
use odbc_api::{
    CursorRow,
    parameter::{VarBinaryArray, VarWCharArray},
};

/// Most values are no longer.
const FIRST_UNITS: usize = 1024;

/// The size of a piece of longer ones.
const PIECE_UNITS: usize = 32 * 1024;

const PIECE_BYTES: usize = 8 * 1024;

/// The most bytes of UTF-8 for one UTF-16 unit.
const BYTES_OF_UNIT: usize = 3;

/// Buffers for the driver's values.
pub(super) struct Buffers {
    first: VarWCharArray<FIRST_UNITS>,
    piece: Option<Box<VarWCharArray<PIECE_UNITS>>>,
    bytes: Box<VarBinaryArray<PIECE_BYTES>>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { first: VarWCharArray::NULL, piece: None, bytes: Box::new(VarBinaryArray::NULL) }
    }
}

/// The rest of the size limit of a row's long values.
pub(super) struct RowBudget(usize);

impl RowBudget {
    pub(super) fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    pub(super) fn unlimited() -> Self {
        Self(usize::MAX)
    }

    /// Takes bytes from the rest.
    fn take(&mut self, bytes: usize) -> Result<(), Unread> {
        self.0 = self.0.checked_sub(bytes).ok_or(Unread::Undeliverable(UndeliverableReason::TooLarge))?;
        Ok(())
    }
}

/// Reads a value as text, which `write` converts from UTF-16. Only short text is changed by it.
pub(super) fn read_text(
    row: &mut CursorRow<'_>,
    number: u16,
    rows: &mut Rows,
    buffers: &mut Buffers,
    room: &mut RowBudget,
    write: impl FnOnce(&mut String, &[u16]),
) -> Result<(), Unread> {
    row.get_data(number, &mut buffers.first)?;
    let Some(units) = buffers.first.as_slice() else {
        rows.push(Cell::Null);
        return Ok(());
    };
    reserve(rows, BYTES_OF_UNIT * units.len(), 0)?;
    if buffers.first.is_complete() {
        rows.push_text(|text| write(text, units));
        return Ok(());
    }
    let (mut long, mut halves) = (rows.begin_text(), Halves::default());
    halves.write(long.text(), units);
    let piece = buffers.piece.get_or_insert_with(|| Box::new(VarWCharArray::NULL));
    loop {
        // The driver goes on behind the last piece.
        row.get_data(number, &mut **piece)?;
        let units = piece.as_slice().unwrap_or_default();
        if !long.reserve(BYTES_OF_UNIT * (units.len() + 2)) {
            return Err(Unread::Undeliverable(UndeliverableReason::NoMemory));
        }
        halves.write(long.text(), units);
        if long.len() > room.0 {
            return Err(Unread::Undeliverable(UndeliverableReason::TooLarge));
        }
        if piece.is_complete() {
            break;
        }
    }
    halves.end(long.text());
    room.take(long.len())?;
    long.end();
    Ok(())
}

/// Reads a value as bytes.
pub(super) fn read_bytes(
    row: &mut CursorRow<'_>,
    number: u16,
    rows: &mut Rows,
    buffers: &mut Buffers,
    room: &mut RowBudget,
) -> Result<(), Unread> {
    let start = rows.size().1;
    loop {
        row.get_data(number, &mut *buffers.bytes)?;
        let Some(piece) = buffers.bytes.as_slice() else {
            rows.push(Cell::Null);
            return Ok(());
        };
        reserve(rows, 0, piece.len())?;
        rows.add_bytes(piece);
        let length = rows.size().1 - start;
        if buffers.bytes.is_complete() {
            if length > PIECE_BYTES {
                room.take(length)?;
            }
            rows.push(Cell::Binary(start, length));
            return Ok(());
        }
        if length > room.0 {
            return Err(Unread::Undeliverable(UndeliverableReason::TooLarge));
        }
    }
}

pub(super) fn reserve(rows: &mut Rows, text: usize, bytes: usize) -> Result<(), Unread> {
    if rows.reserve(text, bytes) { Ok(()) } else { Err(Unread::Undeliverable(UndeliverableReason::NoMemory)) }
}

/// UTF-16 in pieces, which may end between the two halves of a character.
#[derive(Default)]
struct Halves(Option<u16>);

impl Halves {
    fn write(&mut self, text: &mut String, mut units: &[u16]) {
        if let (Some(high), Some((next, rest))) = (self.0, units.split_first()) {
            self.0 = None;
            if is_low(*next) {
                write_utf16(text, &[high, *next]);
                units = rest;
            } else {
                write_utf16(text, &[high]);
            }
        }
        if let Some((last, before)) = units.split_last().filter(|(last, _)| is_high(**last)) {
            self.0 = Some(*last);
            units = before;
        }
        write_utf16(text, units);
    }

    fn end(self, text: &mut String) {
        self.0.iter().for_each(|high| write_utf16(text, &[*high]));
    }
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

pub(super) fn write_utf16(text: &mut String, units: &[u16]) {
    text.reserve(units.len());
    let mut rest = units;
    // Most text is ASCII, which is copied in pieces instead of character by character.
    while let Some((piece, after)) = rest.split_at_checked(rest.len().min(64)).filter(|(piece, _)| !piece.is_empty()) {
        let mut bytes = [0; 64];
        let mut all = 0;
        for (byte, unit) in bytes.iter_mut().zip(piece) {
            *byte = unit.to_le_bytes()[0];
            all |= unit;
        }
        let Ok(ascii) = str::from_utf8(&bytes[..piece.len()]) else { break };
        if all >= 0x80 {
            break;
        }
        text.push_str(ascii);
        rest = after;
    }
    // A lone surrogate, which neither server should store, becomes the replacement character.
    text.extend(char::decode_utf16(rest.iter().copied()).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogate_pairs_become_characters() {
        let mut text = String::new();
        write_utf16(&mut text, &[0x61, 0xd83d, 0xde00, 0xd83d]);
        assert_eq!(text, "a\u{1f600}\u{fffd}");
    }

    #[test]
    fn text_comes_whole_whatever_its_pieces() {
        for length in [0, 1, 63, 64, 65, 127, 128, 129] {
            for odd in ["", "\u{e9}", "\u{1f600}"] {
                let whole = format!("{}{odd}{}", "x".repeat(length), "y".repeat(70));
                let mut text = String::new();
                write_utf16(&mut text, &whole.encode_utf16().collect::<Vec<_>>());
                assert_eq!(text, whole);
            }
        }
    }

    #[test]
    fn a_character_may_be_cut_in_two() {
        let units: Vec<u16> =
            "a\u{1f642}\u{e9}\u{1f600}".encode_utf16().chain([0xd83d, 0x62, 0xdc00, 0xd83d]).collect();
        for length in 1..=units.len() {
            let (mut text, mut halves) = (String::new(), Halves::default());
            units.chunks(length).for_each(|piece| halves.write(&mut text, piece));
            halves.end(&mut text);
            assert_eq!(text, "a\u{1f642}\u{e9}\u{1f600}\u{fffd}b\u{fffd}\u{fffd}", "{length}");
        }
    }
}
