//! Random arguments: good ones, bad ones, and those at the edge.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::ptr;

/// Text or NULL, kept for as long as its pointer is used.
pub struct Text(Option<CString>);

impl Text {
    /// A text without a NUL.
    pub fn of(text: &str) -> Self {
        Self(CString::new(text).ok())
    }

    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ref().map_or(ptr::null(), |text| text.as_ptr())
    }

    /// With the NUL at its end, where lengths are given.
    pub fn length(&self, given: bool) -> usize {
        if given { self.0.as_ref().map_or(7, |text| text.as_bytes_with_nul().len()) } else { 0 }
    }

    pub fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

/// A source of arguments that gives the same ones for the same seed.
pub struct Input {
    state: u64,
    /// Whether the call at hand gets only what it can take: calls with many arguments would else rarely come far.
    pub careful: bool,
    /// Key, token and attempt of items claimed.
    items: Vec<(CString, CString, i32)>,
}

impl Input {
    pub fn new(seed: u64) -> Self {
        Self { state: seed, careful: false, items: Vec::new() }
    }

    /// SplitMix64.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn one<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// One of `good`, or now and then whatever is text, or is not.
    fn mostly(&mut self, good: &[&CStr]) -> Text {
        if !self.careful && self.below(12) == 0 { self.text() } else { Text(Some(self.one(good).to_owned())) }
    }

    pub fn text(&mut self) -> Text {
        match self.below(if self.careful { 2 } else { 8 }) {
            0 | 1 => Text(None),
            2 => Text(Some(CString::new(vec![b'x'; self.below(5000)]).unwrap())),
            3 => {
                let bytes: Vec<_> = (0..self.below(40)).map(|_| (self.number() % 255 + 1) as u8).collect();
                Text(Some(CString::new(bytes).unwrap()))
            }
            _ => Text(Some(
                self.one(&[
                    c"",
                    c"Payload",
                    c"payload",
                    c"1",
                    c"\xff\xfe",
                    c"\xed\xa0\x80",
                    c"\u{1f600}",
                    c"'; DROP TABLE x; --",
                    c"{\"queue\": \"Other Fuzz\"}",
                    c"{\"queue\": \"Fuzz\", \"columns\": [{\"name\": \"A\", \"type\": \"text(0)\"}]}",
                    c"[[[[[[[[[[[[[[[[[[",
                ])
                .to_owned(),
            )),
        }
    }

    /// A setting that does not make calls take long.
    pub fn setting(&mut self) -> Text {
        self.mostly(&[
            c"dialect",
            c"schema",
            c"worker",
            c"lease.ms",
            c"pool.size",
            c"pool.idle_ms",
            c"application",
            c"?",
        ])
    }

    pub fn queue_name(&mut self) -> Text {
        self.mostly(&[c"Fuzz", c"Fuzz", c"Fuzz", c"Missing", c"not a name"])
    }

    pub fn queue_type(&mut self) -> Text {
        if !self.careful && self.below(4) == 0 { self.mostly(&[c"Default", c"Missing"]) } else { Text(None) }
    }

    pub fn json(&mut self) -> Text {
        self.mostly(&[
            c"{}",
            c"{\"Payload\": \"p\"}",
            c"{\"Payload\": null}",
            c"{\"Payload\": 1}",
            c"{\"Other\": 1}",
            c"[",
        ])
    }

    pub fn filter(&mut self) -> Text {
        self.mostly(&[
            c"{}",
            c"{\"status\": [\"Completed\", \"Failed\"]}",
            c"{\"error\": \"%'; --\", \"before\": \"2026-11-21\"}",
            c"{\"keys\": []}",
            c"{\"status\": [\"Pending\"]}",
            c"{\"statuses\": []}",
            c"[",
        ])
    }

    /// The arguments of a question.
    pub fn arguments(&mut self) -> Text {
        let key = self.items.first().map_or(c"1", |item| item.0.as_c_str()).to_string_lossy().into_owned();
        let of_key = format!("{{\"key\": {key:?}}}");
        let of_items = format!("{{\"items\": [{{\"key\": {key:?}}}, {{\"key\": \"\", \"token\": \"t\"}}]}}");
        match self.below(4) {
            0 => Text::of(&of_key),
            1 => Text::of(&of_items),
            _ => self.mostly(&[
                c"{}",
                c"{\"filter\": {}, \"max\": 3}",
                c"{\"filter\": {\"status\": [\"Failed\"]}, \"after\": \"1\"}",
                c"{\"most\": 0, \"trend_ms\": 1}",
                c"{\"trend_ms\": 1, \"types\": true}",
                c"{\"items\": {}}",
                c"[",
            ]),
        }
    }

    pub fn time(&mut self) -> Text {
        if !self.careful && self.below(4) == 0 {
            self.mostly(&[c"2026-11-21T08:30:00Z", c"2026-02-30", c"now"])
        } else {
            Text(None)
        }
    }

    pub fn operation(&mut self) -> Text {
        if self.careful || self.below(4) > 0 {
            return Text(None);
        }
        self.mostly(&[c"01234567-89ab-cdef-0123-456789abcdef", c"01234567-89ab-cdef-0123-456789abcde", c"x"])
    }

    /// The key of an item, then its token and its attempt: of the one learnt last, so that they may fit.
    pub fn key(&mut self) -> Text {
        match self.items.pop() {
            Some(item) => {
                let key = item.0.clone();
                self.items.insert(0, item);
                Text(Some(key))
            }
            None => self.mostly(&[c"2026-11-21 08:30:00.123456+00", c"1"]),
        }
    }

    pub fn token(&mut self) -> Text {
        match self.items.first().filter(|_| self.careful || !self.state.is_multiple_of(8)) {
            Some(item) => Text(Some(item.1.clone())),
            None => self.text(),
        }
    }

    pub fn attempt(&mut self) -> i32 {
        let known = self.items.first().map_or(1, |item| item.2);
        if self.careful {
            return known;
        }
        self.one(&[known, known, known, known, 0, 1, -1, i32::MIN, i32::MAX])
    }

    pub fn learn(&mut self, key: &CStr, token: &CStr, attempt: i32) {
        self.items.truncate(50);
        self.items.push((key.to_owned(), token.to_owned(), attempt));
    }

    pub fn action(&mut self) -> i32 {
        let good = (self.number() % 10) as i32 + 1;
        if self.careful {
            return good;
        }
        self.one(&[good, good, good, good, good, good, 0, 11, i32::MIN, i32::MAX])
    }

    /// A count up to `most`, or one that cannot be.
    pub fn count(&mut self, most: usize) -> i32 {
        let good = self.below(most) as i32 + 1;
        if self.careful {
            return good;
        }
        self.one(&[good, good, good, good, good, good, 0, -1, 1001, i32::MIN, i32::MAX])
    }

    /// The length of an array with `there` elements, as a caller gives it, or an impossible one. No more than are there: that is what a call
    /// has no means to find out.
    pub fn elements(&mut self, there: usize) -> i32 {
        let good = self.below(there + 1) as i32;
        if self.careful {
            return good;
        }
        self.one(&[good, good, good, good, good, good, -1, 1_000_001, i32::MIN, i32::MAX])
    }

    /// Items for tests.
    pub fn items(&mut self) -> Text {
        self.mostly(&[
            c"[{\"columns\": {\"Payload\": \"p\", \"N\": 1}}, {\"key\": \"k\", \"attempt\": 2}]",
            c"[{\"columns\": {\"Body\": {\"a\": [1.10, \"\\u0000\"]}, \"F\": 1e999}}]",
            c"[{\"columns\": {\"Body\": \"no JSON\"}}, {\"state\": \"Failed\"}]",
            c"[]",
            c"[{}]",
            c"[{\"key\": 1}]",
            c"[[",
        ])
    }

    /// A description for them.
    pub fn spec(&mut self) -> Text {
        if self.below(2) == 0 {
            return Text(None);
        }
        self.mostly(&[
            c"{\"queue\": \"Fuzz\", \"columns\": [{\"name\": \"Body\", \"type\": \"json\"}]}",
            c"queue = \"Fuzz\"",
            c"fuzz.toml",
        ])
    }

    pub fn index(&mut self) -> i32 {
        self.one(&[0, 0, 1, 2, 3, 5, 8, 13, 100, -1, i32::MIN, i32::MAX])
    }

    /// A short wait, or one that cannot be.
    pub fn wait(&mut self) -> i64 {
        if self.careful {
            return 1;
        }
        self.one(&[0, 0, 1, 3, -1, 86_400_001, i64::MIN, i64::MAX])
    }

    pub fn delay(&mut self) -> i64 {
        if self.careful {
            return -1;
        }
        self.one(&[-1, -1, -1, -1, 0, 1, 1000, -2, i64::MIN, i64::MAX])
    }

    /// A place, or now and then none.
    pub fn maybe<T>(&mut self, place: &mut T) -> *mut T {
        if !self.careful && self.below(10) == 0 { ptr::null_mut() } else { place }
    }
}

/// Structs of one size in a row, as a caller with another version of the header would have them.
pub struct Memory<T> {
    words: Vec<u64>,
    kind: PhantomData<T>,
}

impl<T: Copy> Memory<T> {
    /// So many, each as `make` makes it with the size it is to say.
    pub fn filled(input: &mut Input, count: usize, make: impl Fn(usize, usize) -> T) -> Self {
        let stride = Self::stride(input);
        let mut memory = Self { words: vec![0; count * stride / 8], kind: PhantomData };
        let said = Self::said(input, stride);
        for i in 0..count {
            let value = make(i, if !input.careful && input.below(50) == 0 { input.number() as usize } else { said });
            // SAFETY: a place is at least as large as the struct.
            unsafe { memory.words.as_mut_ptr().byte_add(i * stride).cast::<T>().write(value) };
        }
        if stride > size_of::<T>() && !input.careful && input.below(4) == 0 {
            // A field of the future.
            memory.words[stride / 8 - 1] = input.number();
        }
        memory
    }

    /// So many, of which the first says its size and all else is not set.
    pub fn unset(input: &mut Input, count: usize) -> Self {
        let stride = Self::stride(input);
        let mut memory = Self { words: vec![input.number(); count * stride / 8], kind: PhantomData };
        memory.words[0] = Self::said(input, stride) as u64;
        memory
    }

    /// The size of this version's struct, or of a later one's.
    fn stride(input: &mut Input) -> usize {
        size_of::<T>() + if input.below(4) == 0 { 8 * input.below(8) } else { 0 }
    }

    /// The size in the struct: the true one, or one that is too small, or impossible.
    fn said(input: &mut Input, stride: usize) -> usize {
        match input.below(20) + if input.careful { 4 } else { 0 } {
            0 => 0,
            1 => size_of::<T>() - 8,
            2 => stride + 1,
            3 => usize::MAX,
            _ => stride,
        }
    }

    pub fn first(&self, input: &mut Input) -> *const T {
        if !input.careful && input.below(20) == 0 { ptr::null() } else { self.words.as_ptr().cast() }
    }

    pub fn place(&mut self, input: &mut Input) -> *mut T {
        if !input.careful && input.below(6) == 0 { ptr::null_mut() } else { self.words.as_mut_ptr().cast() }
    }
}
