//! Keeps the README honest: what stands in its `sh` blocks is run.
//!
//! Blocks marked `console` or `text` show output and are left alone. `cargo xtask` lines are checked for a verb that exists
//! instead of being run, because one of them is running this.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Runs the README's commands from the workspace root.
pub(crate) fn check() -> Result<()> {
    let path = cargo::root().join("README.md");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let commands = commands(&text);
    if commands.is_empty() {
        bail!("{} has no command in a sh block", path.display());
    }
    for command in commands {
        if let Some(verb) = command.strip_prefix("cargo xtask ") {
            check_verb(verb)?;
        } else {
            run(&command)?;
        }
    }
    Ok(())
}

fn run(command: &str) -> Result<()> {
    println!("$ {command}");
    let status = Command::new("sh").arg("-c").arg(command).current_dir(cargo::root()).status();
    let status = status.with_context(|| format!("failed to start `{command}`"))?;
    if !status.success() {
        bail!("the README's `{command}` failed ({status})");
    }
    Ok(())
}

fn check_verb(rest: &str) -> Result<()> {
    let verb = rest.split_whitespace().next().unwrap_or_default();
    if !["deps", "ci", "fuzz-smoke", "bench"].contains(&verb) {
        bail!("the README names `cargo xtask {verb}`, which does not exist");
    }
    Ok(())
}

/// The lines of the `sh` blocks, without comments and with continued lines joined.
fn commands(markdown: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_block = false;
    let mut continued = String::new();
    for line in markdown.lines().map(str::trim) {
        if line.starts_with("```") {
            in_block = !in_block && line == "```sh";
        } else if in_block && !line.is_empty() && !line.starts_with('#') {
            let line = line.split("  #").next().unwrap_or(line).trim_end();
            match line.strip_suffix('\\') {
                Some(start) => continued.push_str(start),
                None => commands.push(std::mem::take(&mut continued) + line),
            }
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sh_blocks_are_commands() {
        let text = "a\n```sh\n# say hello\necho a \\\n  b   # aside\n\necho c\n```\n```console\n$ rm -rf /\n```\n";
        assert_eq!(commands(text), ["echo a b", "echo c"]);
    }

    #[test]
    fn unknown_verbs_are_refused() {
        assert!(check_verb("ci").is_ok());
        assert!(check_verb("dance --now").is_err());
    }
}
