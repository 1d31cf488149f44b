//! [`Site`]: a place in a C program that records, with a name that is known when it is compiled, and its number once it was used.
//!
//! It lies in the program's own memory, which may be unmapped (`dlclose`), so its name is copied.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};

use rankscope_record::{Category, NameId, Scope, intern};

use crate::guard::{REFUSED, counted};
use crate::status::Error;
use crate::texts;

/// A place that records: a static variable, made with `RANKSCOPE_SITE` or `RANKSCOPE_KEY`. Its number is found at the first use.
#[derive(Debug)]
#[repr(C)]
pub struct Site {
    /// `sizeof(rankscope_site)`.
    pub struct_size: u32,
    /// The library's: zero until it is used.
    pub id: u32,
    /// What it is called.
    pub name: *const c_char,
    /// Bytes of the name, or `RANKSCOPE_NUL_TERMINATED`.
    pub name_bytes: usize,
    /// What sort of event it records: a `RANKSCOPE_CATEGORY_`.
    pub category: u32,
    /// From which layer of a framework: a `RANKSCOPE_SCOPE_`.
    pub scope: u32,
}

/// Its number; none where it is no site, which is found out each time.
///
/// # Safety
/// `site` is null or a site that lives during the call, whose name is one.
#[inline(always)]
pub(crate) unsafe fn id(site: *mut Site) -> Option<NameId> {
    if site.is_null() {
        return None;
    }
    // SAFETY: it is a site, whose number is read and written as an atomic by everybody.
    let known = unsafe { AtomicU32::from_ptr(&raw mut (*site).id) }.load(Ordering::Relaxed);
    // SAFETY: the caller says so.
    if known == 0 { unsafe { find(site) } } else { Some(NameId(known)) }
}

/// # Safety
/// That of [`id`], and `site` is not null.
#[cold]
#[inline(never)]
unsafe fn find(site: *mut Site) -> Option<NameId> {
    // SAFETY: a site of any size begins with it.
    if (unsafe { (*site).struct_size } as usize) < size_of::<Site>() {
        return None;
    }
    // SAFETY: it is a whole site, of which only the number changes.
    let (name, bytes, category, scope) = unsafe { ((*site).name, (*site).name_bytes, (*site).category, (*site).scope) };
    // SAFETY: the caller says that its name is one.
    let id = unsafe { named(name, bytes, category, scope) }.ok()?;
    // SAFETY: as in `id`.
    unsafe { AtomicU32::from_ptr(&raw mut (*site).id) }.store(id.0, Ordering::Relaxed);
    Some(id)
}

/// # Safety
/// That of [`texts::text`].
pub(crate) unsafe fn named(name: *const c_char, bytes: usize, category: u32, scope: u32) -> Result<NameId, Error> {
    // SAFETY: the caller says so.
    let text = unsafe { texts::text("name", name, bytes) }?;
    let wrong = |argument, number: u32| Error::NoSuchNumber { argument, number: number.into() };
    let known = u8::try_from(category).ok().and_then(Category::of).ok_or_else(|| wrong("category", category))?;
    let layer = u8::try_from(scope).ok().and_then(Scope::of).ok_or_else(|| wrong("scope", scope))?;
    Ok(intern(&text, known, layer))
}

/// The number of a name that is made up while the program runs, with its category and scope; zero where it is refused. It takes a
/// lock and the name stays for as long as the process, so ask once for each, and put what differs from call to call into arguments.
///
/// # Safety
/// `name` has `name_bytes` bytes, or ends in zero if that is `RANKSCOPE_NUL_TERMINATED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_intern(name: *const c_char, name_bytes: usize, category: u32, scope: u32) -> u32 {
    counted(0, || {
        // SAFETY: the caller says so.
        unsafe { named(name, name_bytes, category, scope) }.ok().map(|id| id.0)
    })
}

/// Finds the number of a site now instead of at its first use, for one that is to be used in signal handlers; zero where it is no
/// site.
///
/// # Safety
/// `site` is null or a site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_site_prepare(site: *mut Site) -> u32 {
    counted(0, || {
        // SAFETY: the caller says so.
        unsafe { id(site) }.map(|id| id.0)
    })
}

/// Says that a call of a site was refused.
pub(crate) fn refused() {
    REFUSED.fetch_add(1, Ordering::Relaxed);
}
