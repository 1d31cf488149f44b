//! The verbs as `rankscope --help` lists them: in groups, by what a user has in hand. Clap lists subcommands in one row, in which
//! a verb of every day and one of a rare day stand level. Refuses to describe a verb: each says itself what it does.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// Verbs under their headings, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Look at traces",
        &["report", "open", "serve", "compare", "what-if", "query", "spans", "align", "combine", "validate", "convert"],
    ),
    ("Report on jobs too large for one machine", &["plan", "map", "merge", "dist"]),
    ("Look into jobs that run, or stand still", &["top", "watch", "hang"]),
    ("Run jobs and keep what they record", &["demo", "doctor", "run", "trigger", "sweep", "runs", "recover"]),
    ("Measure clocks", &["agent", "clock"]),
    ("Plan context-parallel attention", &["dispatch"]),
    ("Settings and help", &["config", "help"]),
];

/// What clap says of its own verb. It adds that only when it builds the command with all verbs and options, which takes longer
/// than most verbs need to start.
const HELP: (&str, &str) = ("help", "Print this message or the help of the given subcommand(s)");

/// `command`, with help that lists its verbs in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let list = list(&command);
    command.help_template(StyledStr::from(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}"
    )))
}

fn list(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let width = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter()).map(|verb| verb.len()).max().unwrap_or(0);
    let mut list = String::new();
    for (heading, verbs) in GROUPS {
        // A String takes any write.
        let _ = writeln!(list, "\n{header}{heading}:{header:#}");
        for verb in verbs {
            let about = command.find_subcommand(verb).map(about);
            if let Some(about) = about.or_else(|| (*verb == HELP.0).then(|| HELP.1.to_owned())) {
                let _ = writeln!(list, "  {literal}{verb:width$}{literal:#}  {about}");
            }
        }
    }
    list
}

fn about(verb: &Command) -> String {
    verb.get_about().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_in_one_group_and_takes_one_line() {
        let mut command = crate::command();
        command.build();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            let places = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter()).filter(|listed| **listed == name).count();
            assert_eq!(places, 1, "{name}");
            assert!(about(verb).len() <= 85, "{name}: {}", about(verb));
        }
        assert_eq!(command.find_subcommand(HELP.0).map(about).as_deref(), Some(HELP.1));
        let help = command.render_help().to_string();
        assert!(help.contains("\nLook at traces:\n  report    Report on one run"), "{help}");
    }
}
