//! Reading and writing the primitive values of TDS: little-endian integers, UTF-16 text and the
//! length-prefixed strings `B_VARCHAR` and `US_VARCHAR` (MS-TDS 2.2.5, "Grammar Definition for
//! Token Description").

use std::io;

/// The error for bytes that do not say what the specification says they should.
pub fn malformed(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Decodes UTF-16LE, replacing unpaired surrogates.
pub fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    String::from_utf16_lossy(&units)
}

/// Encodes text as UTF-16LE.
pub fn utf16_bytes(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A forward-only reader over one message.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything not read yet, without reading it.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        if self.rest.len() < count {
            return Err(malformed(format!("{count} bytes wanted, {} left", self.rest.len())));
        }
        let (head, tail) = self.rest.split_at(count);
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        Ok(self.bytes(N)?.try_into().expect("`bytes` answers exactly N bytes"))
    }

    pub fn u8(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// `count` UTF-16 code units.
    pub fn text(&mut self, count: usize) -> io::Result<String> {
        self.bytes(count * 2).map(utf16)
    }

    /// `B_VARCHAR`: text whose length is a byte.
    pub fn b_varchar(&mut self) -> io::Result<String> {
        let count = self.u8()?;
        self.text(usize::from(count))
    }
}

/// Appending TDS primitives to a message.
pub trait Put {
    fn put_u8(&mut self, value: u8);
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    fn put_bytes(&mut self, bytes: &[u8]);

    /// `B_VARCHAR`: text whose length in UTF-16 code units is a byte.
    fn put_b_varchar(&mut self, text: &str) {
        let units = text.encode_utf16().count();
        self.put_u8(u8::try_from(units).expect("a B_VARCHAR holds at most 255 code units"));
        self.put_bytes(&utf16_bytes(text));
    }

    /// `US_VARCHAR`: text whose length in UTF-16 code units is two bytes.
    fn put_us_varchar(&mut self, text: &str) {
        let units = text.encode_utf16().count();
        self.put_u16(u16::try_from(units).expect("a US_VARCHAR holds at most 65535 code units"));
        self.put_bytes(&utf16_bytes(text));
    }

    /// `B_VARBYTE`: bytes whose count is a byte.
    fn put_b_varbyte(&mut self, bytes: &[u8]) {
        self.put_u8(u8::try_from(bytes.len()).expect("a B_VARBYTE holds at most 255 bytes"));
        self.put_bytes(bytes);
    }
}

impl Put for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    fn put_u16(&mut self, value: u16) {
        self.extend(value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.extend(value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend(value.to_le_bytes());
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
