//! The pages of a run: those that can be read, and whether their processes live.

use std::io::Read;
use std::path::{Path, PathBuf};

use rankscope_recording::{LivePage, PAGE_BYTES, PageRefused, rank_of_page};
use rankscope_run::{files_in, open};
use rankscope_witness::process::boot_id;

/// A page that could be read.
pub(crate) struct PageFile {
    pub(crate) path: PathBuf,
    pub(crate) page: LivePage,
    pub(crate) writer: Writer,
}

/// The process that wrote a page, as far as can be told from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// It runs on this node.
    Here,
    /// It ran on this node, and left its page behind.
    Gone,
    /// It is of another node.
    Elsewhere,
}

/// The pages of ranks, those of processes that are gone among them.
pub(crate) fn page_files(run: &Path, problems: &mut Vec<String>) -> Vec<PageFile> {
    let mut files = Vec::new();
    let boot = boot_id();
    for path in files_in(&run.join("live")).unwrap_or_default() {
        let Some(rank) = rank_of(&path) else { continue };
        match page(&path) {
            Ok(page) if page.head.rank != rank => {
                problems.push(format!("{}: left out, as it is the page of rank {}.", path.display(), page.head.rank));
            }
            Ok(page) => files.push(PageFile { writer: writer(&page, &boot), path, page }),
            Err(why) => problems.push(format!("{}: left out: {why}.", path.display())),
        }
    }
    files
}

/// The pages of ranks that live, as far as can be told from here.
pub(super) fn pages(run: &Path, problems: &mut Vec<String>) -> Vec<LivePage> {
    let (gone, living): (Vec<_>, Vec<_>) = page_files(run, problems).into_iter().partition(|file| file.writer == Writer::Gone);
    problems.extend(gone.iter().map(|file| {
        let head = file.page.head;
        format!("Rank {} is gone: process {} has ended without saying so.", head.rank, head.pid)
    }));
    living.into_iter().map(|file| file.page).collect()
}

fn rank_of(path: &Path) -> Option<u32> {
    rank_of_page(path.file_name()?.to_str()?)
}

fn page(path: &Path) -> Result<LivePage, String> {
    let bytes = || -> Result<Vec<u8>, String> {
        let file = open(path).map_err(|error| crate::told(&error))?;
        let mut bytes = Vec::with_capacity(PAGE_BYTES);
        file.take(PAGE_BYTES as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    };
    read_whole(bytes)
}

/// How often a page is read again that was written to meanwhile.
const READINGS_MAX: u32 = 4;

/// The page of which `bytes` reads all bytes, at a moment at which it is whole.
fn read_whole(mut bytes: impl FnMut() -> Result<Vec<u8>, String>) -> Result<LivePage, String> {
    let mut readings = 1;
    loop {
        match LivePage::read(&bytes()?, &bytes()?) {
            Err(PageRefused::State) if readings < READINGS_MAX => readings += 1,
            read => return read.map_err(|refused| refused.to_string()),
        }
    }
}

/// Whose page it is, on this node, whose start is called `boot`. Of processes of other nodes nobody knows here.
fn writer(page: &LivePage, boot: &str) -> Writer {
    if !page.head.is_of_boot(boot) {
        return Writer::Elsewhere;
    }
    let stat = text(&format!("/proc/{}/stat", page.head.pid));
    let Some((_, behind_name)) = stat.rsplit_once(')') else { return Writer::Gone };
    let mut fields = behind_name.split_ascii_whitespace();
    let is_dead = matches!(fields.next(), Some("Z" | "X"));
    let is_it = fields.nth(18).and_then(|ticks| ticks.parse().ok()) == Some(page.head.process_start);
    if is_it && !is_dead { Writer::Here } else { Writer::Gone }
}

/// A small file of the kernel, empty where there is none.
fn text(path: &str) -> String {
    let mut text = String::new();
    let _absent = open(Path::new(path)).ok().map(|file| file.take(4_096).read_to_string(&mut text));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_recording::{PageHead, PageState};

    /// A page of which nothing but its head and its state is there.
    fn page_of(head: PageHead) -> Vec<u8> {
        let mut words = [0; PAGE_BYTES / 8];
        words[..8].copy_from_slice(&head.words());
        words[48..80].copy_from_slice(&PageState::default().words(1));
        words.map(u64::to_le_bytes).concat()
    }

    #[test]
    fn a_page_that_is_written_to_while_it_is_read_is_read_again_and_one_that_is_damaged_is_refused() {
        let whole = page_of(PageHead::default());
        let mut torn = whole.clone();
        torn[48 * 8..80 * 8].fill(0x5a);
        let mut readings = 0;
        let mut read = |torn_readings: u32| {
            readings = 0;
            let bytes = || {
                readings += 1;
                Ok(if readings <= torn_readings { torn.clone() } else { whole.clone() })
            };
            (read_whole(bytes).is_ok(), readings)
        };
        assert_eq!((read(0), read(1), read(3)), ((true, 2), (true, 4), (true, 6)));
        assert!(!read(u32::MAX).0);
    }

    #[test]
    fn a_page_of_a_process_that_is_gone_and_one_that_is_forged_are_left_out_with_the_reason() {
        let run = tempfile::tempdir().unwrap();
        std::fs::create_dir(run.path().join("live")).unwrap();
        let boot: String = text("/proc/sys/kernel/random/boot_id").chars().filter(char::is_ascii_hexdigit).collect();
        let half = |range: std::ops::Range<usize>| u64::from_str_radix(&boot[range], 16).unwrap();
        let page = |rank, pid, boot| page_of(PageHead { rank, pid, process_start: 1, boot });
        let put = |name: &str, bytes: &[u8]| std::fs::write(run.path().join("live").join(name), bytes).unwrap();
        put("rank-0.page", &page(0, std::process::id(), [half(0..16), half(16..32)]));
        put("rank-1.page", &page(1, 4_000_000, [1, 2]));
        put("rank-2.page", &page(7, 1, [1, 2]));
        put("rank-3.page", b"RSLIVEPG and nothing else");
        put("notes.txt", b"none of ours");
        let mut problems = Vec::new();
        let kept = pages(run.path(), &mut problems);
        assert_eq!(
            kept.iter().map(|page| page.head.rank).collect::<Vec<_>>(),
            [1],
            "that of another node cannot be told from here"
        );
        problems.sort();
        let said = problems.join("\n");
        assert!(said.contains("Rank 0 is gone") && said.contains("page of rank 7") && said.contains("version"), "{said}");
        assert_eq!(problems.len(), 3, "{said}");
    }
}
