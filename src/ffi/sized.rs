//! Structs whose caller may have been built with another version of the header. Each holds its size, as that version declares it:
//! a shorter one lacks the newest fields, which are then zero; a longer one has fields that this library does not know, which
//! must then be zero. (Linux passes the arguments of new system calls in the same way.)

use super::args;
use super::failure::CallFailure;
use super::status::{READPAST_NOT_FOUND, READPAST_OK, READPAST_UNSUPPORTED, readpast_status};
use std::fmt::Display;
use std::{mem, ptr};

/// More than any struct will ever have.
const LONGEST: usize = 4096;

/// A struct that grows at its end from version to version.
///
/// # Safety
/// It is `repr(C)`, begins with a `usize` that holds its size, and holds besides only numbers, arrays of numbers and raw
/// pointers: all zeros are a value of it.
pub(super) unsafe trait Versioned: Copy {
    /// The macro that initialises it.
    const INIT: &'static str;

    /// The size it had in the first version of the header.
    const FIRST_SIZE: usize;
}

/// The structs of an array, each completed to the version of this library.
///
/// # Safety
/// `first` is NULL, or `count` structs lie there, each as long as it says. Where there are none, it is not looked at.
pub(super) unsafe fn read_array<T: Versioned>(name: &str, first: *const T, count: i32) -> Result<Vec<T>, CallFailure> {
    let count = args::element_count(name, count)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: as the caller promises.
    let stride = unsafe { stride_of(name, first) }?;
    let mut structs = Vec::with_capacity(count);
    for i in 0..count {
        // SAFETY: as the caller promises; the size of each is checked before the next is reached.
        structs.push(unsafe { read_one(format_args!("{name}[{i}]"), first.byte_add(i * stride), stride) }?);
    }
    Ok(structs)
}

/// A struct that may be NULL.
///
/// # Safety
/// `place` is NULL, or a struct lies there that is as long as it says.
pub(super) unsafe fn optional_struct<T: Versioned>(name: &str, place: *const T) -> Result<Option<T>, CallFailure> {
    // SAFETY: as the caller promises.
    (!place.is_null()).then(|| unsafe { read_array(name, place, 1) }.map(|read| read[0])).transpose()
}

/// # Safety
/// At `place` lies a struct as long as it says.
unsafe fn read_one<T: Versioned>(name: impl Display, place: *const T, stride: usize) -> Result<T, CallFailure> {
    // SAFETY: every struct begins with its size.
    let size = unsafe { place.cast::<usize>().read_unaligned() };
    if size != stride {
        return Err(CallFailure::argument(format!("{name}.struct_size is {size}, but that of the first is {stride}")));
    }
    for at in mem::size_of::<T>()..size {
        // SAFETY: it is within the struct.
        if unsafe { place.cast::<u8>().add(at).read() } != 0 {
            return Err(CallFailure::new(
                READPAST_UNSUPPORTED,
                format!(
                    "{name} sets a field that this version of readpast ({}) does not know",
                    env!("CARGO_PKG_VERSION")
                ),
            ));
        }
    }
    // SAFETY: all zeros are a value of T; what is copied over them is within both structs.
    unsafe {
        let mut value: T = mem::zeroed();
        ptr::copy_nonoverlapping(place.cast::<u8>(), (&raw mut value).cast(), size.min(mem::size_of::<T>()));
        Ok(value)
    }
}

/// Structs that the library fills in. The first holds the size of each.
pub(super) struct OutStructs<T> {
    first: *mut T,
    stride: usize,
    count: usize,
}

impl<T: Versioned> OutStructs<T> {
    /// One place, which must be there.
    ///
    /// # Safety
    /// `place` is NULL, or says the size of what can be written there until the call ends.
    pub(super) unsafe fn one(name: &str, place: *mut T) -> Result<Self, CallFailure> {
        // SAFETY: as the caller promises.
        let stride = unsafe { stride_of(name, place) }?;
        Ok(Self { first: place, stride, count: 1 })
    }

    /// `count` places, or none when there is no first. The count has been checked.
    ///
    /// # Safety
    /// `first` is NULL, or says the size of what can be written there `count` times until the call ends. Where there are none,
    /// it is not looked at.
    pub(super) unsafe fn optional(name: &str, first: *mut T, count: i32) -> Result<Self, CallFailure> {
        if first.is_null() || count == 0 {
            return Ok(Self { first, stride: 0, count: 0 });
        }
        // SAFETY: as the caller promises.
        let stride = unsafe { stride_of(name, first) }?;
        Ok(Self { first, stride, count: count.unsigned_abs() as usize })
    }

    /// Fills the structs, as far as there are any.
    pub(super) fn fill(self, values: impl Iterator<Item = T>) {
        for (i, value) in values.take(self.count).enumerate() {
            // SAFETY: there are so many places, each as long as the stride.
            unsafe { write_one(self.first.byte_add(i * self.stride), self.stride, value) };
        }
    }

    /// Fills the one struct, or leaves it unchanged when there is no value.
    pub(super) fn fill_or_not_found(self, value: Option<T>) -> readpast_status {
        let status = if value.is_some() { READPAST_OK } else { READPAST_NOT_FOUND };
        self.fill(value.into_iter());
        status
    }
}

/// Writes the fields of `value` that the caller's version has, and zeros for its other fields.
///
/// # Safety
/// The place is as long as the stride, which is enough for a size.
unsafe fn write_one<T: Versioned>(place: *mut T, stride: usize, value: T) {
    let shared = stride.min(mem::size_of::<T>());
    // SAFETY: as the caller promises.
    unsafe {
        let place = place.cast::<u8>();
        ptr::copy_nonoverlapping((&raw const value).cast(), place, shared);
        place.add(shared).write_bytes(0, stride - shared);
        place.cast::<usize>().write_unaligned(stride);
    }
}

/// The size that the first struct of an array holds, which all others share.
///
/// # Safety
/// `first` is NULL, or begins with its size.
unsafe fn stride_of<T: Versioned>(name: &str, first: *const T) -> Result<usize, CallFailure> {
    if first.is_null() {
        return Err(CallFailure::argument(format!("{name} is NULL")));
    }
    // SAFETY: as the caller promises.
    let size = unsafe { first.cast::<usize>().read_unaligned() };
    if size < T::FIRST_SIZE || size > LONGEST || !size.is_multiple_of(mem::align_of::<T>()) {
        return Err(CallFailure::argument(format!("{name}[0].struct_size is {size}; initialise it with {}", T::INIT)));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::READPAST_INVALID_ARGUMENT;

    /// The struct as this library knows it.
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Now {
        struct_size: usize,
        number: i64,
        later: i64,
    }

    // SAFETY: numbers only, the size first.
    unsafe impl Versioned for Now {
        const INIT: &'static str = "NOW_INIT";
        const FIRST_SIZE: usize = 16;
    }

    fn read(words: &[u64], count: i32) -> Result<Vec<Now>, CallFailure> {
        // SAFETY: the tests give as many words as they say.
        unsafe { read_array("items", words.as_ptr().cast(), count) }
    }

    #[test]
    fn older_structs_are_completed_with_zeros() {
        let items = read(&[16, 1, 16, 2], 2).unwrap();
        assert_eq!(items[1], Now { struct_size: 16, number: 2, later: 0 });
    }

    #[test]
    fn newer_structs_are_taken_when_they_ask_for_nothing_new() {
        assert_eq!(read(&[32, 1, 2, 0, 32, 3, 4, 0], 2).unwrap()[1].later, 4);
        assert_eq!(read(&[32, 1, 2, 0, 32, 3, 4, 5], 2).unwrap_err().status(), READPAST_UNSUPPORTED);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for size in [0, 1, 8, 17, 5000, u64::MAX] {
            assert_eq!(read(&[size, 0, 0], 1).unwrap_err().status(), READPAST_INVALID_ARGUMENT);
        }
        assert!(format!("{:?}", read(&[24, 0, 0, 16, 0, 0], 2)).contains("items[1].struct_size is 16"));
        assert!(format!("{:?}", read(&[0, 0, 0], 1)).contains("NOW_INIT"));
    }

    #[test]
    fn only_what_the_caller_has_is_written() {
        for (size, expected) in [(16_u64, [16, 1, 9, 9]), (24, [24, 1, 2, 9]), (32, [32, 1, 2, 0])] {
            let mut words = [size, 9, 9, 9];
            // SAFETY: there is room for the size it says.
            unsafe {
                let place = OutStructs::one("item", words.as_mut_ptr().cast()).unwrap();
                place.fill([Now { struct_size: 0, number: 1, later: 2 }].into_iter());
            }
            assert_eq!(words, expected);
        }
    }

    #[test]
    fn places_are_filled_as_far_as_there_are_any() {
        let mut words = [16, 9, 16, 9, 8_u64];
        let value = |number| Now { struct_size: 0, number, later: 0 };
        // SAFETY: there are two places of the size they say.
        unsafe {
            OutStructs::optional("items", words.as_mut_ptr().cast(), 2).unwrap().fill([1, 2, 3].map(value).into_iter());
            OutStructs::optional("items", ptr::null_mut(), 2).unwrap().fill([4].map(value).into_iter());
            // With a count of 0 there need be no array.
            let nowhere = ptr::without_provenance_mut(8);
            OutStructs::optional("items", nowhere, 0).unwrap().fill([4].map(value).into_iter());
            assert_eq!(read_array::<Now>("items", nowhere, 0).unwrap(), []);
        }
        assert_eq!(words, [16, 1, 16, 2, 8]);
    }
}
