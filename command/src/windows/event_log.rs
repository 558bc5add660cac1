//! The event log, the log of a service without a standard error.
#![allow(unsafe_code, reason = "Windows offers these as C functions only")]

use log::Level;
use std::io;
use windows::Win32::System::EventLog::{
    DeregisterEventSource, EVENTLOG_ERROR_TYPE, EVENTLOG_INFORMATION_TYPE, EVENTLOG_WARNING_TYPE, RegisterEventSourceW,
    ReportEventW,
};
use windows::Win32::System::Registry::{HKEY_LOCAL_MACHINE, REG_DWORD, REG_EXPAND_SZ, RegDeleteTreeW, RegSetKeyValueW};
use windows::core::{HSTRING, PCWSTR, w};

/// A library of messages that show only their text. It comes with .NET Framework 4, which is part of Windows. Without it the
/// event log shows the text after an excuse.
const MESSAGES: &str = r"%SystemRoot%\Microsoft.NET\Framework64\v4.0.30319\EventLogMessages.dll";

/// The most UTF-16 units of an entry that `ReportEventW` takes.
const LONGEST: usize = 31_839;

/// Puts an entry of a service into the log of applications. It may get lost: nothing depends on it.
pub fn write(service: &str, level: Level, text: &str) {
    let kind = match level {
        Level::Error => EVENTLOG_ERROR_TYPE,
        Level::Warn => EVENTLOG_WARNING_TYPE,
        _ => EVENTLOG_INFORMATION_TYPE,
    };
    let text: Vec<u16> = text.encode_utf16().filter(|unit| *unit != 0).take(LONGEST).chain([0]).collect();
    // SAFETY: both texts end in a zero and outlive the calls; the source is given back.
    unsafe {
        let Ok(log) = RegisterEventSourceW(PCWSTR::null(), &HSTRING::from(source(service))) else { return };
        let _ = ReportEventW(log, kind, 0, 1, None, 0, Some(&[PCWSTR(text.as_ptr())]), None);
        let _ = DeregisterEventSource(log);
    }
}

/// The source's name of a service of ours. Any program may have its own source of the service's plain name; this one is ours to
/// make and to remove.
fn source(service: &str) -> String {
    format!("readpast-{service}")
}

/// Registers the source, and the library that shows its entries.
///
/// # Errors
/// When we are no administrator.
pub fn add(service: &str) -> io::Result<()> {
    let place = key(service);
    let mut messages: Vec<u16> = MESSAGES.encode_utf16().collect();
    messages.push(0);
    let size = u32::try_from(messages.len() * 2).unwrap_or_default();
    let kinds = u32::from(EVENTLOG_ERROR_TYPE.0 | EVENTLOG_WARNING_TYPE.0 | EVENTLOG_INFORMATION_TYPE.0);
    // SAFETY: both values lie in memory of ours of the given length.
    unsafe {
        RegSetKeyValueW(
            HKEY_LOCAL_MACHINE,
            &place,
            w!("EventMessageFile"),
            REG_EXPAND_SZ.0,
            Some(messages.as_ptr().cast()),
            size,
        )
        .ok()?;
        RegSetKeyValueW(
            HKEY_LOCAL_MACHINE,
            &place,
            w!("TypesSupported"),
            REG_DWORD.0,
            Some((&raw const kinds).cast()),
            4,
        )
        .ok()?;
    }
    Ok(())
}

/// Removes the source. Its entries stay.
pub fn remove(service: &str) {
    // SAFETY: the text outlives the call.
    let _ = unsafe { RegDeleteTreeW(HKEY_LOCAL_MACHINE, &key(service)) };
}

fn key(service: &str) -> HSTRING {
    HSTRING::from(format!(r"SYSTEM\CurrentControlSet\Services\EventLog\Application\{}", source(service)))
}
