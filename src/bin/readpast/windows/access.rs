//! Who may read a file.
#![allow(unsafe_code, reason = "Windows offers access lists as C structures only")]

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use windows::Win32::Foundation::{GENERIC_ALL, GENERIC_READ, HANDLE, HLOCAL, LocalFree};
use windows::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT};
use windows::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, INHERIT_ONLY_ACE, IsWellKnownSid,
    PSECURITY_DESCRIPTOR, PSID, WinAnonymousSid, WinAuthenticatedUserSid, WinBuiltinGuestsSid, WinBuiltinUsersSid,
    WinInteractiveSid, WinNetworkSid, WinWorldSid,
};
use windows::Win32::Storage::FileSystem::FILE_READ_DATA;
use windows::Win32::System::SystemServices::ACCESS_ALLOWED_ACE_TYPE;

/// Whether a group that everybody is in, or every user of this machine, may read a file. Others that are named in its access list
/// (administrators, the system, an account that the owner chose) are named there for a reason.
///
/// # Errors
/// When the file has no access list that we may see.
pub fn is_public(file: &File) -> io::Result<bool> {
    let mut list: *mut ACL = std::ptr::null_mut();
    let mut descriptor = PSECURITY_DESCRIPTOR::default();
    // SAFETY: the handle is open as long as `file` is borrowed, and both places are ours to be written to.
    let status = unsafe {
        GetSecurityInfo(
            HANDLE(file.as_raw_handle()),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            None,
            None,
            Some(&raw mut list),
            None,
            Some(&raw mut descriptor),
        )
    };
    status.ok()?;
    let _descriptor = Allocated(descriptor);
    if list.is_null() {
        // No list at all: everybody may do everything.
        return Ok(true);
    }
    // SAFETY: the list lies in the descriptor, which is freed at the end of this function.
    let count = unsafe { (*list).AceCount };
    for index in 0..u32::from(count) {
        let mut entry = std::ptr::null_mut();
        // SAFETY: as above; the index is below the count.
        unsafe { GetAce(list, index, &raw mut entry) }?;
        // SAFETY: each entry begins with this header.
        let header = unsafe { &*entry.cast::<ACE_HEADER>() };
        if u32::from(header.AceType) != ACCESS_ALLOWED_ACE_TYPE || u32::from(header.AceFlags) & INHERIT_ONLY_ACE.0 != 0
        {
            continue;
        }
        // SAFETY: the header says that it is such an entry, in which the account stands at `SidStart`.
        let (mask, account) = unsafe {
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            ((*entry).Mask, PSID((&raw mut (*entry).SidStart).cast()))
        };
        let reads = mask & (FILE_READ_DATA.0 | GENERIC_READ.0 | GENERIC_ALL.0) != 0;
        if reads && is_everybody(account) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_everybody(account: PSID) -> bool {
    let groups = [
        WinWorldSid,
        WinBuiltinUsersSid,
        WinAuthenticatedUserSid,
        WinInteractiveSid,
        WinNetworkSid,
        WinBuiltinGuestsSid,
        WinAnonymousSid,
    ];
    // SAFETY: the account is one of an access list that is still there.
    groups.into_iter().any(|group| unsafe { IsWellKnownSid(account, group) }.as_bool())
}

/// What Windows has allocated for us.
struct Allocated(PSECURITY_DESCRIPTOR);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: it was allocated by `GetSecurityInfo` and is freed here only.
        unsafe { LocalFree(Some(HLOCAL(self.0.0))) };
    }
}
