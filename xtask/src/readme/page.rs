//! What the fenced blocks of a page are.
//!
//! | block | what it is |
//! |---|---|
//! | `sh` | commands, run from top to bottom |
//! | `text` after `sh`, with no other block between | what the commands before it print |
//! | `console` | lines after `$ ` are commands, what follows each is what it prints |
//! | any other language | not of the terminal, and none of our business |
//!
//! A comment on the line above a fence changes that: `<!-- not run: why -->`, `<!-- no output: what it is -->`,
//! `<!-- run: together -->` for commands that need each other, and `<!-- output: times vary -->`, `numbers vary` or `abridged`
//! ([`super::shape`]), several with commas. A `text` block that is none of these, and a fence without a language, are refused.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};

use super::shape::{Rule, Vary};

/// Something to do about a page.
#[derive(Debug)]
pub(super) enum Part {
    NotRun { line: usize, why: String },
    Run { line: usize, commands: Vec<String>, together: bool, shown: Option<Shown> },
}

/// Output in a page.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// Lines of the page, the first being 0; for people that is the line of the fence above.
    pub(super) lines: Range<usize>,
    pub(super) text: String,
    pub(super) rule: Rule,
}

/// What the comment above a block says.
#[derive(Default)]
struct Marks {
    not_run: Option<String>,
    no_output: bool,
    together: bool,
    rule: Rule,
}

struct Fence<'a> {
    language: &'a str,
    marks: Marks,
    /// The body's, the first of the page being 0.
    lines: Range<usize>,
}

/// The parts of a page, from top to bottom.
pub(super) fn parts(page: &str) -> Result<Vec<Part>> {
    let lines: Vec<&str> = page.lines().collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut after_sh = false;
    for fence in fences(&lines)? {
        let line = fence.lines.start;
        let was_after_sh = std::mem::replace(&mut after_sh, fence.language == "sh");
        if let Some(why) = fence.marks.not_run {
            parts.push(Part::NotRun { line, why });
            after_sh = false;
            continue;
        }
        let body = &lines[fence.lines.clone()];
        match fence.language {
            "" => bail!("line {line}: this block needs a language: sh, console, text or what it is"),
            "sh" => parts.push(Part::Run { line, commands: commands(body), together: fence.marks.together, shown: None }),
            "console" => parts.extend(console(body, line, fence.marks.rule)?),
            "text" if fence.marks.no_output => {}
            "text" => match parts.last_mut() {
                Some(Part::Run { shown, .. }) if was_after_sh => {
                    *shown = Some(Shown::new(&lines, fence.lines, fence.marks.rule))
                }
                _ => bail!(
                    "line {line}: what prints this? Put the command into a `sh` block above, or a comment that says `no output: ...` or `not run: ...`"
                ),
            },
            _ => {}
        }
    }
    Ok(parts)
}

impl Shown {
    fn new(page: &[&str], lines: Range<usize>, rule: Rule) -> Self {
        Self { text: page[lines.clone()].join("\n"), lines, rule }
    }

    /// What to show instead: all of it, or as many lines of it where the block shows a beginning.
    pub(super) fn replacement(&self, printed: &str) -> String {
        match self.text.trim_end().strip_suffix("\n...") {
            Some(beginning) if self.rule.abridged && !beginning.contains("...") => {
                let lines = printed.lines().take(beginning.lines().count());
                lines.chain(["..."]).collect::<Vec<_>>().join("\n")
            }
            _ => printed.to_owned(),
        }
    }
}

/// The page with other outputs in it.
pub(super) fn edited(page: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    let mut lines: Vec<&str> = page.lines().collect();
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, text) in &edits {
        lines.splice(range.clone(), text.trim_end().lines().map(str::trim_end));
    }
    lines.join("\n") + "\n"
}

fn fences<'a>(lines: &[&'a str]) -> Result<Vec<Fence<'a>>> {
    let mut fences = Vec::new();
    let mut opened: Option<Fence> = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().strip_prefix("```") else { continue };
        match opened.take() {
            Some(mut fence) => {
                fence.lines.end = at;
                fences.push(fence);
            }
            None => {
                let above = at.checked_sub(1).map_or("", |above| lines[above]);
                let marks = Marks::read(above).with_context(|| format!("line {at}"))?;
                let language = rest.split([',', ' ']).next().unwrap_or_default();
                opened = Some(Fence { language, marks, lines: at + 1..at + 1 });
            }
        }
    }
    ensure!(opened.is_none(), "the last block is not closed");
    Ok(fences)
}

impl Marks {
    fn read(above: &str) -> Result<Self> {
        let mut marks = Self::default();
        let Some(comment) = above.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) else {
            return Ok(marks);
        };
        match comment.trim().split_once(": ") {
            Some(("not run", why)) => marks.not_run = Some(why.to_owned()),
            Some(("no output", _what)) => marks.no_output = true,
            Some(("run", "together")) => marks.together = true,
            Some(("output", rules)) => {
                for rule in rules.split(", ") {
                    match rule {
                        "times vary" => marks.rule.vary = Vary::Times,
                        "numbers vary" => marks.rule.vary = Vary::Numbers,
                        "abridged" => marks.rule.abridged = true,
                        _ => bail!("`{rule}` is not one of `times vary`, `numbers vary`, `abridged`"),
                    }
                }
            }
            _ => bail!("`{}` is none of `not run: ...`, `no output: ...`, `run: together`, `output: ...`", comment.trim()),
        }
        Ok(marks)
    }
}

/// Lines without comments, those that end in a backslash joined with the next.
fn commands(body: &[&str]) -> Vec<String> {
    let mut commands = Vec::new();
    let mut continued = String::new();
    for line in body.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line = line.split("  #").next().unwrap_or(line).trim_end();
        match line.strip_suffix('\\') {
            Some(start) => continued.push_str(start),
            None => commands.push(std::mem::take(&mut continued) + line),
        }
    }
    commands
}

/// The commands of a console, each with the lines up to the next one.
fn console(body: &[&str], first: usize, rule: Rule) -> Result<Vec<Part>> {
    let prompts: Vec<usize> = (0..body.len()).filter(|&at| body[at].starts_with("$ ")).collect();
    ensure!(prompts.first() == Some(&0), "line {first}: a console begins with `$ ` and a command");
    let ends = prompts.iter().skip(1).copied().chain([body.len()]);
    let part = |(&at, end): (&usize, usize)| {
        let end = (at + 1..end).rev().find(|&line| !body[line].trim().is_empty()).map_or(at + 1, |last| last + 1);
        let shown = Shown { lines: first + at + 1..first + end, text: body[at + 1..end].join("\n"), rule };
        let shown = (!shown.lines.is_empty()).then_some(shown);
        Part::Run { line: first + at, commands: commands(&[&body[at][2..]]), together: false, shown }
    };
    Ok(prompts.iter().zip(ends).map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(part: &Part) -> (&[String], bool, Option<&str>) {
        let Part::Run { commands, together, shown, .. } = part else { panic!("{part:?}") };
        (commands, *together, shown.as_ref().map(|shown| shown.text.as_str()))
    }

    #[test]
    fn text_after_commands_is_what_they_print() {
        let page = "a\n```sh\n# say hello\necho a \\\n  b   # aside\n\necho c\n```\nIt says:\n\n```text\na b\nc\n```\n";
        let parts = parts(page).unwrap();
        assert_eq!(run(&parts[0]), (&["echo a b".to_owned(), "echo c".to_owned()][..], false, Some("a b\nc")));
    }

    #[test]
    fn a_console_has_an_output_for_each_command() {
        let parts = parts("```console\n$ echo a\na\n\n$ echo b > c\n$ cat c\nb\n```\n").unwrap();
        assert_eq!(parts.iter().map(|part| run(part).2).collect::<Vec<_>>(), [Some("a"), None, Some("b")]);
    }

    #[test]
    fn a_block_that_nobody_can_tell_about_is_refused() {
        for page in [
            "```\nrankscope report\n```\n",
            "```text\nranks 4 of 4\n```\n",
            "```sh\na\n```\n```json\n{}\n```\n```text\nafter another block\n```\n",
            "<!-- output: everything varies -->\n```text\na\n```\n",
            "<!-- not a mark -->\n```sh\na\n```\n",
            "```sh\na\n",
        ] {
            assert!(parts(page).is_err(), "{page}");
        }
        assert!(parts("<!-- no output: a drawing -->\n```text\n/\\\n```\n```rust\nx\n```\n").unwrap().is_empty());
    }

    #[test]
    fn what_is_not_run_says_why() {
        let parts = parts("<!-- not run: needs torchrun -->\n```sh\nrankscope run -- torchrun x\n```\n").unwrap();
        assert!(matches!(&parts[0], Part::NotRun { line: 2, why } if why == "needs torchrun"), "{parts:?}");
    }

    #[test]
    fn a_beginning_stays_one_when_it_is_written() {
        let page = "```sh\ns\n```\n<!-- output: abridged -->\n```text\nold\nolder\n...\n```\n";
        let [Part::Run { shown: Some(shown), .. }] = &parts(page).unwrap()[..] else { panic!("one part") };
        assert_eq!(shown.replacement("1\n2\n3\n4\n"), "1\n2\n...");
        let whole = Shown { text: "old\n...\nolder".to_owned(), ..shown.clone() };
        assert_eq!(whole.replacement("1\n2\n3\n"), "1\n2\n3\n");
    }

    #[test]
    fn an_edit_changes_only_its_block() {
        let page = "a\n```sh\ns\n```\n```text\nold\nolder\n```\n```console\n$ t\nold\n```\nz\n";
        let edits = parts(page).unwrap().into_iter().filter_map(|part| match part {
            Part::Run { shown: Some(shown), .. } => Some((shown.lines, "new  \n".to_owned())),
            _ => None,
        });
        let expected = "a\n```sh\ns\n```\n```text\nnew\n```\n```console\n$ t\nnew\n```\nz\n";
        assert_eq!(edited(page, edits.collect()), expected);
    }
}
