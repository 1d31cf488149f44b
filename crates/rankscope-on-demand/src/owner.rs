//! Whose a socket is, by the system: a datagram says which process it is of, and anybody may say so.

use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::SocketAddr;

/// Whether process `pid` has the socket at `address`.
pub(crate) fn owns(pid: i32, address: &SocketAddr) -> bool {
    let Some(inode) = listed_name(address).and_then(|name| inode(&name)) else { return false };
    let link = format!("socket:[{inode}]");
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| fs::read_link(file.path()).ok()).any(|target| target.as_os_str() == link.as_str())
}

/// The bytes by which an address is known again; none for a socket without a name.
pub(crate) fn name(address: &SocketAddr) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;

    let path = address.as_pathname().map(|path| path.as_os_str().as_bytes().to_vec());
    path.or_else(|| address.as_abstract_name().map(|name| [b"\0", name].concat()))
}

/// The name as the system lists it: zeros are written as `@`.
fn listed_name(address: &SocketAddr) -> Option<String> {
    let name: Vec<u8> = name(address)?.into_iter().map(|byte| if byte == 0 { b'@' } else { byte }).collect();
    String::from_utf8(name).ok().filter(|name| !name.contains(char::is_whitespace))
}

fn inode(name: &str) -> Option<u64> {
    let listed = fs::read_to_string("/proc/net/unix").ok()?;
    let mut inodes = listed.lines().filter_map(|line| {
        let mut columns = line.split_whitespace();
        let inode = columns.nth(6)?.parse().ok()?;
        (columns.next() == Some(name)).then_some(inode)
    });
    let inode = inodes.next()?;
    // Two that look alike here are told apart by nobody.
    inodes.next().is_none().then_some(inode)
}
