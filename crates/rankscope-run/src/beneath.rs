//! A file by names of one folder after the other, for somebody who must not get out of the first.
//!
//! Each name is opened in the folder before it, and none may be a link, wherever it leads: between looking and opening nothing can be put in
//! its place. Refuses what is no regular file, as [`open`](crate::open()) does.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fcntl_setfl, openat};

/// Opens the file that `names` lead to from `folder`, which itself may be a link.
///
/// # Errors
/// `NotFound` for what is not there, is a link, or is no regular file; and what the file system refuses.
pub fn open_beneath(folder: &Path, names: &[&str]) -> io::Result<File> {
    let Some((name, folders)) = names.split_last() else { return Err(io::ErrorKind::NotFound.into()) };
    if names.iter().any(|name| name.is_empty() || *name == "." || *name == ".." || name.contains(['/', '\0'])) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let shut = OFlags::RDONLY | OFlags::CLOEXEC;
    let mut at = openat(rustix::fs::CWD, folder, shut | OFlags::DIRECTORY, Mode::empty()).map_err(missing)?;
    for folder in folders {
        at = openat(&at, *folder, shut | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty()).map_err(missing)?;
    }
    // Opening a pipe would wait for who writes into it.
    let flags = shut | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(openat(&at, *name, flags, Mode::empty()).map_err(missing)?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// Links, and files where folders should be, are not there.
fn missing(error: rustix::io::Errno) -> io::Error {
    use rustix::io::Errno;
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::NAMETOOLONG => io::ErrorKind::NotFound.into(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use rustix::fs::mkfifoat;

    use super::*;

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("inside");
        fs::create_dir_all(inside.join("a")).unwrap();
        fs::write(root.path().join("secret"), "s").unwrap();
        fs::write(inside.join("a/file"), "f").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink(root.path(), inside.join("up")).unwrap();
        symlink("a/file", inside.join("within")).unwrap();
        mkfifoat(rustix::fs::CWD, inside.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let mut text = String::new();
        open_beneath(&inside, &["a", "file"]).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "f");
        let bad: [&[&str]; 12] = [
            &[],
            &[".."],
            &["..", "secret"],
            &["a", "..", "..", "secret"],
            &["out"],
            &["up", "secret"],
            &["within"],
            &["pipe"],
            &["a"],
            &["a/file"],
            &["a", "file", "x"],
            &["/etc", "passwd"],
        ];
        for names in bad {
            assert_eq!(open_beneath(&inside, names).unwrap_err().kind(), io::ErrorKind::NotFound, "{names:?}");
        }
        // The folder itself is what was named, and may be reached by a link.
        symlink(&inside, root.path().join("latest")).unwrap();
        assert!(open_beneath(&root.path().join("latest"), &["a", "file"]).is_ok());
    }
}
