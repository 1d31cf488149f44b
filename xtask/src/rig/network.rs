//! Namespaces, a bridge and token buckets.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// A star of nodes around one bridge. It goes away with the namespaces of the process that built it.
pub(crate) struct Network {
    pub(crate) nodes: u32,
}

impl Network {
    /// Builds it. Namespaces have names, which live below /run: that becomes a file system of our own first.
    pub(crate) fn build(nodes: u32, rate_mbit: u32) -> Result<Self> {
        run("mount -t tmpfs none /run")?;
        run("ip netns add hub")?;
        run("ip -n hub link add hub0 type bridge")?;
        run("ip -n hub link set hub0 up")?;
        for node in 0..nodes {
            run(&format!("ip netns add node{node}"))?;
            run(&format!("ip link add eth0 netns node{node} type veth peer name port{node} netns hub"))?;
            run(&format!("ip -n node{node} addr add {}/16 dev eth0", Self::address(node)))?;
            run(&format!("ip -n node{node} link set lo up"))?;
            run(&format!("ip -n node{node} link set eth0 up"))?;
            run(&format!("ip -n hub link set port{node} master hub0 up"))?;
            // On the hub's side only: a sender's own queue lies before its transmit stamp and would not be seen.
            let shape = format!("tc -n hub qdisc add dev port{node} root tbf rate {rate_mbit}mbit burst 4kb latency 10ms");
            run(&shape)?;
        }
        Ok(Self { nodes })
    }

    /// Address of a node.
    pub(crate) fn address(node: u32) -> String {
        format!("10.9.{}.{}", node / 250, node % 250 + 1)
    }

    /// A command that runs inside a node.
    pub(crate) fn command(node: u32, program: &std::ffi::OsStr) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("node{node}")]).arg(program);
        command
    }

    /// Runs a shell-free command inside a node.
    pub(crate) fn within(node: u32, line: &str) -> Result<String> {
        run(&format!("ip netns exec node{node} {line}"))
    }
}

/// Whether this process is the superuser.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

/// Runs one command, its words separated by spaces, and returns what it printed.
pub(crate) fn run(line: &str) -> Result<String> {
    let mut words = line.split(' ');
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output().with_context(|| format!("failed to start {program}"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
