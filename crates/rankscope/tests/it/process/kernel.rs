//! What the kernel says of processes: which there are, whose they are, and where they can be reached.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

/// A process and all that it started, as far as they still know whose they are.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let processes =
        || fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let parents: Vec<(u32, u32)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut family = vec![pid];
    let mut at = 0;
    while at < family.len() {
        let children = parents.iter().filter(|(_, parent)| *parent == family[at]).map(|(pid, _)| *pid);
        family.extend(children.collect::<Vec<_>>());
        at += 1;
    }
    family
}

/// Where these processes can be reached: TCP sockets that listen, and UDP sockets.
pub(crate) fn reachable(pids: &[u32]) -> Vec<SocketAddr> {
    let files = pids.iter().flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten());
    let links: Vec<String> = files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.display().to_string())).collect();
    let mut found = Vec::new();
    // LISTEN of TCP is 0A; a UDP socket that is bound is 07.
    for (table, state) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[3] == state && links.contains(&format!("socket:[{}]", words[9])) {
                found.push(socket_address(words[1]));
            }
        }
    }
    found
}

/// `0100007F:1F90`: the kernel prints addresses as numbers of 32 bits in its own order of bytes.
fn socket_address(text: &str) -> SocketAddr {
    let (address, port) = text.split_once(':').unwrap();
    let words = (0..address.len()).step_by(8).map(|at| u32::from_str_radix(&address[at..at + 8], 16).unwrap());
    let bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::from(four),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).into(),
    };
    SocketAddr::new(ip, u16::from_str_radix(port, 16).unwrap())
}
