//! The event log, where a service tells what goes to standard error elsewhere.
#![allow(unsafe_code, reason = "Windows offers these as C functions only")]

use log::Level;
use std::io;
use windows::Win32::System::EventLog::{
    DeregisterEventSource, EVENTLOG_ERROR_TYPE, EVENTLOG_INFORMATION_TYPE, EVENTLOG_WARNING_TYPE, RegisterEventSourceW,
    ReportEventW,
};
use windows::Win32::System::Registry::{HKEY_LOCAL_MACHINE, REG_DWORD, REG_EXPAND_SZ, RegDeleteTreeW, RegSetKeyValueW};
use windows::core::{HSTRING, PCWSTR, w};

/// A library of messages that say what they are given, and no more. It comes with .NET Framework 4, which is part of Windows.
/// Without it the event log shows the text after an excuse.
const MESSAGES: &str = r"%SystemRoot%\Microsoft.NET\Framework64\v4.0.30319\EventLogMessages.dll";

/// How long an entry may be, in UTF-16 units: what `ReportEventW` takes.
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

/// Under what name a service of ours writes. Any program may have its own source of the service's plain name; this one is ours,
/// to be made and to be taken away.
fn source(service: &str) -> String {
    format!("readpast-{service}")
}

/// Tells the log who writes, and by what its entries are shown.
///
/// # Errors
/// When we are no administrator.
pub fn add(service: &str) -> io::Result<()> {
    let place = key(service);
    let mut messages: Vec<u16> = MESSAGES.encode_utf16().collect();
    messages.push(0);
    let size = u32::try_from(messages.len() * 2).unwrap_or_default();
    let kinds = u32::from(EVENTLOG_ERROR_TYPE.0 | EVENTLOG_WARNING_TYPE.0 | EVENTLOG_INFORMATION_TYPE.0);
    // SAFETY: both values lie in memory of ours that is as long as is said.
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

/// Takes back what [`add`] said. What was written stays.
pub fn remove(service: &str) {
    // SAFETY: the text outlives the call.
    let _ = unsafe { RegDeleteTreeW(HKEY_LOCAL_MACHINE, &key(service)) };
}

fn key(service: &str) -> HSTRING {
    HSTRING::from(format!(r"SYSTEM\CurrentControlSet\Services\EventLog\Application\{}", source(service)))
}
