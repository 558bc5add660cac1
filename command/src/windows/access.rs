//! The owner of a file, and the rights of others on it.
#![allow(unsafe_code, reason = "Windows offers access lists as C structures only")]

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use windows::Win32::Foundation::{GENERIC_ALL, GENERIC_READ, HANDLE, HLOCAL, LocalFree};
use windows::Win32::Security::Authorization::{ConvertSidToStringSidW, GetSecurityInfo, SE_FILE_OBJECT};
use windows::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, GetTokenInformation, INHERIT_ONLY_ACE,
    IsWellKnownSid, OBJECT_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser,
    WinAnonymousSid, WinAuthenticatedUserSid, WinBuiltinGuestsSid, WinBuiltinUsersSid, WinInteractiveSid,
    WinNetworkSid, WinWorldSid,
};
use windows::Win32::Storage::FileSystem::FILE_READ_DATA;
use windows::Win32::System::SystemServices::ACCESS_ALLOWED_ACE_TYPE;
use windows::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows::core::PWSTR;

/// Whether a group of all users, or of all users of this machine, may read a file. Others in its access list (administrators, the
/// system, an account that the owner chose) are there for a reason.
///
/// # Errors
/// When the file has no access list that we may see.
pub fn is_public(file: &File) -> io::Result<bool> {
    let reads = FILE_READ_DATA.0 | GENERIC_READ.0 | GENERIC_ALL.0;
    About::of(file, DACL_SECURITY_INFORMATION)?.grants(reads, is_everybody)
}

/// Owner and access list of a file or a folder.
pub struct About {
    owner: PSID,
    list: *mut ACL,
    /// The memory of both.
    _descriptor: Allocated,
}

impl About {
    /// Reads those of the open file, wherever its name leads meanwhile.
    ///
    /// # Errors
    /// When we may not see it.
    pub fn of(file: &File, what: OBJECT_SECURITY_INFORMATION) -> io::Result<Self> {
        let mut owner = PSID::default();
        let mut list: *mut ACL = std::ptr::null_mut();
        let mut descriptor = PSECURITY_DESCRIPTOR::default();
        // SAFETY: the handle is open as long as `file` is borrowed, and all places are ours to be written to.
        let status = unsafe {
            GetSecurityInfo(
                HANDLE(file.as_raw_handle()),
                SE_FILE_OBJECT,
                what,
                Some(&raw mut owner),
                None,
                Some(&raw mut list),
                None,
                Some(&raw mut descriptor),
            )
        };
        status.ok()?;
        Ok(Self { owner, list, _descriptor: Allocated(descriptor) })
    }

    /// Its owner, as text like S-1-5-18.
    ///
    /// # Errors
    /// When it has none, as on a file system without owners.
    pub fn owner(&self) -> io::Result<String> {
        if self.owner.is_invalid() {
            return Err(io::Error::other("it has no owner"));
        }
        text_of(self.owner)
    }

    /// Whether its access list grants one of these rights to an account that `is_meant`.
    ///
    /// # Errors
    /// When Windows does not read the list.
    pub fn grants(&self, rights: u32, is_meant: impl Fn(PSID) -> bool) -> io::Result<bool> {
        if self.list.is_null() {
            // Without a list, all users have all rights.
            return Ok(true);
        }
        // SAFETY: the list lies in the descriptor, which is freed with this value.
        let count = unsafe { (*self.list).AceCount };
        for index in 0..u32::from(count) {
            let mut entry = std::ptr::null_mut();
            // SAFETY: as above; the index is below the count.
            unsafe { GetAce(self.list, index, &raw mut entry) }?;
            // SAFETY: each entry begins with this header.
            let header = unsafe { &*entry.cast::<ACE_HEADER>() };
            let is_inherited_only = u32::from(header.AceFlags) & INHERIT_ONLY_ACE.0 != 0;
            if u32::from(header.AceType) != ACCESS_ALLOWED_ACE_TYPE || is_inherited_only {
                continue;
            }
            // SAFETY: the header declares such an entry, in which the account stands at `SidStart`.
            let (mask, account) = unsafe {
                let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
                ((*entry).Mask, PSID((&raw mut (*entry).SidStart).cast()))
            };
            if mask & rights != 0 && is_meant(account) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// An account as text.
///
/// # Errors
/// When it is none.
pub fn text_of(account: PSID) -> io::Result<String> {
    let mut text = PWSTR::null();
    // SAFETY: the account is one of a descriptor or a token that is still there, and the place is ours.
    unsafe { ConvertSidToStringSidW(account, &raw mut text) }?;
    // SAFETY: Windows has written text with an end, which is freed here once it is copied.
    unsafe {
        let copy = text.to_string();
        LocalFree(Some(HLOCAL(text.0.cast())));
        copy.map_err(io::Error::other)
    }
}

/// The account of this process.
///
/// # Errors
/// When Windows does not return it.
pub fn me() -> io::Result<String> {
    let mut token = HANDLE::default();
    // SAFETY: the place is ours; the handle is closed with `_token`.
    unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) }?;
    // SAFETY: no other owner has it.
    let _token = unsafe { OwnedHandle::from_raw_handle(token.0) };
    // An account has 68 bytes at most.
    let mut user = [0_u64; 32];
    let size = u32::try_from(size_of_val(&user)).unwrap_or_default();
    let mut used = 0;
    // SAFETY: there is room of this size, aligned for a pointer.
    unsafe { GetTokenInformation(token, TokenUser, Some(user.as_mut_ptr().cast()), size, &raw mut used) }?;
    // SAFETY: Windows has written this there; the account lies behind it in the same room.
    text_of(unsafe { (*user.as_ptr().cast::<TOKEN_USER>()).User.Sid })
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

/// Memory that Windows has allocated.
struct Allocated(PSECURITY_DESCRIPTOR);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: it was allocated by `GetSecurityInfo` and is freed here only.
        unsafe { LocalFree(Some(HLOCAL(self.0.0))) };
    }
}
