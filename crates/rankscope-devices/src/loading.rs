//! Libraries that are loaded at run time: where they were looked for, what of them is mapped already, and their symbols.
#![expect(unsafe_code, reason = "a symbol has the type that its caller says")]

use std::error::Error;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// A function of a library that stays loaded; none if the library lacks it.
///
/// # Safety
/// `F` is the type of a function pointer, and the function's.
pub unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller knows the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.ok().map(|symbol| *symbol)
}

/// What the loader said, which is in the source alone.
pub fn said(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A file in which a library was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// The file.
    pub file: String,
    /// Why it is not there, as the loader says.
    pub said: String,
}

impl Tried {
    /// One that the loader refused.
    pub fn refused(file: impl Into<String>, error: &libloading::Error) -> Self {
        Self { file: file.into(), said: said(error) }
    }

    /// All of them in one line.
    pub fn listed(tried: &[Self]) -> String {
        tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, said } = self;
        // The loader names the file by itself.
        if said.starts_with(file.as_str()) { f.write_str(said) } else { write!(f, "{file}: {said}") }
    }
}

/// The first of these files that is a library, by its name: of those in `mapped` only where it is loaded already, because two copies of a
/// profiler in one process are one too many.
///
/// # Safety
/// Whoever asks wants the initialisers of these libraries to run.
///
/// # Errors
/// None is one: why, for each.
pub unsafe fn open_first(mapped: &[PathBuf], others: &[PathBuf]) -> Result<(String, Library), Vec<Tried>> {
    let mut tried = Vec::new();
    let mapped = mapped.iter().map(|file| (file, libc::RTLD_NOLOAD));
    for (path, flags) in mapped.chain(others.iter().map(|file| (file, 0))) {
        let file = path.to_string_lossy().into_owned();
        // SAFETY: the caller says so.
        match unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | flags) } {
            Ok(library) => return Ok((file, library)),
            Err(error) => tried.push(Tried::refused(file, &error)),
        }
    }
    Err(tried)
}

/// A text of a library's; none for null.
///
/// # Safety
/// `at` is null or leads to a text that ends in a zero byte.
pub unsafe fn text(at: *const c_char) -> Option<String> {
    // SAFETY: the caller says so.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

/// Declares a struct of a library's functions: those that it must have, and those that only some versions have. All return a status.
#[macro_export]
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident
     needed { $($need:ident: $need_symbol:literal = fn($($need_arg:ty),*);)+ }
     known { $($know:ident: $know_symbol:literal = fn($($know_arg:ty),*);)* }) => {
        $(#[$doc])*
        struct $name {
            $($need: unsafe extern "C" fn($($need_arg),*) -> std::ffi::c_int,)+
            $($know: Option<unsafe extern "C" fn($($know_arg),*) -> std::ffi::c_int>,)*
        }

        impl $name {
            /// # Safety
            /// The library's functions have these types.
            ///
            /// # Errors
            /// The name of the first that is needed and missing.
            unsafe fn of(library: &libloading::os::unix::Library) -> Result<Self, &'static str> {
                // SAFETY: the caller says so.
                unsafe {
                    Ok(Self {
                        $($need: $crate::symbol(library, $need_symbol).ok_or($need_symbol)?,)+
                        $($know: $crate::symbol(library, $know_symbol),)*
                    })
                }
            }
        }
    };
}

/// Files that are mapped into this process, each once, in the order of their addresses.
pub fn mapped_files() -> Vec<PathBuf> {
    mapped_in(&fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

/// The same, of what the kernel says of a process in its `maps`.
pub fn mapped_in(maps: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    // Address, permissions, offset, device, inode, path; a path may have spaces in it.
    for path in maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])) {
        if !files.iter().any(|file| file == Path::new(path)) {
            files.push(PathBuf::from(path));
        }
    }
    files
}

/// The last part of a path; nothing where it is no text.
pub fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_that_names_the_file_is_not_repeated() {
        let tried = [("a.so", "a.so: no such file"), ("b.so", "not an ELF file")];
        let tried = tried.map(|(file, said)| Tried { file: file.into(), said: said.into() });
        assert_eq!(Tried::listed(&tried), "a.so: no such file; b.so: not an ELF file");
    }

    #[test]
    fn a_file_is_mapped_once_however_often_it_is_in_the_list() {
        let maps = "\
7f00-7f10 r-xp 00000000 08:01 11 /opt/a b/libone.so.1
7f10-7f20 r--p 00010000 08:01 11 /opt/a b/libone.so.1
7f20-7f30 rw-p 00000000 00:00 0 [heap]
7f30-7f40 r-xp 00000000 08:01 12 /lib/libtwo.so
";
        assert_eq!(mapped_in(maps), ["/opt/a b/libone.so.1", "/lib/libtwo.so"].map(PathBuf::from));
        assert!(!mapped_files().is_empty(), "this process is a file, too");
    }
}
