//! Who listens on a port of this host, as the kernel tells it: sockets by their ports, and processes by their sockets.
//!
//! Nothing is connected to. Processes of other users, and those in a network of their own, do not show.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::process::read;

/// Whether one of `processes` listens on `port`.
pub fn listens(processes: &[u32], port: u16) -> bool {
    let sockets: BTreeSet<u64> = ["tcp", "tcp6"].into_iter().flat_map(|table| listening(&read_table(table), port)).collect();
    !sockets.is_empty() && processes.iter().any(|pid| holds(*pid, &sockets))
}

fn read_table(name: &str) -> String {
    read(&Path::new("/proc/self/net").join(name)).unwrap_or_default()
}

/// The state of a socket that listens, in the kernel's table.
const LISTEN: &str = "0A";

/// The sockets in `table` that listen on `port`.
fn listening(table: &str, port: u16) -> Vec<u64> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (own, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
        let (_, own_port) = own.rsplit_once(':')?;
        let is_it = *state == LISTEN && u16::from_str_radix(own_port, 16) == Ok(port);
        inode.parse().ok().filter(|_| is_it)
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// Whether `pid` has one of `sockets` open.
fn holds(pid: u32, sockets: &BTreeSet<u64>) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| {
        let number = link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
        number.is_some_and(|number: u64| sockets.contains(&number))
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// As the kernel writes it: one that listens on 28028, one that is connected from there, and one that listens elsewhere.
    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:6D7C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 48211 1 ffff8a3c 100 0 0 10 0
   1: 0100007F:6D7C 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 48212 1 ffff8a3d 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17001 1 ffff8a3e 100 0 0 10 0
   3: cut";

    #[test]
    fn of_a_port_only_what_listens_counts() {
        assert_eq!(listening(TABLE, 28_028), [48_211]);
        assert_eq!(listening(TABLE, 22), [17_001]);
        assert_eq!(listening(TABLE, 50_000), []);
    }

    #[test]
    fn a_process_listens_where_it_does_and_no_other_for_it() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(listens(&[own], port));
        assert!(!listens(&[], port) && !listens(&[u32::MAX], port));
        drop(listener);
        assert!(!listens(&[own], port));
    }
}
