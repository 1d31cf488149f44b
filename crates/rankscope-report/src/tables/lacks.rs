//! What tables of several ranks lack: one sentence for all ranks that lack it, not one for each.
//!
//! Sentences that differ in nothing but their numbers are one, with the least and the greatest of each number. A number is a word
//! by itself: those in names, and in what stands in quotation marks, are names.

use std::collections::BTreeMap;

use rankscope_document::Document;

/// What some ranks' tables lack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lack {
    /// What it concerns: `attribution`, or `figures`.
    pub about: String,
    /// What is missing and why, in a sentence.
    pub text: String,
    /// The ranks that lack it, ascending: `rank 3`, `ranks 0 to 5, 7`, `every rank`.
    pub whose: String,
}

/// What the tables of `document` lack, in the order of the first rank that says so.
pub fn lacks(document: &Document) -> Vec<Lack> {
    let mut said: Vec<Said<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, Vec<Word<'_>>), usize> = BTreeMap::new();
    for rank in &document.ranks {
        for note in rank.tables.iter().flat_map(|tables| &tables.notes) {
            let (words, numbers) = taken_apart(&note.text);
            let at = *places.entry((&note.about, words)).or_insert_with_key(|(about, words)| {
                said.push(Said {
                    about,
                    words: words.clone(),
                    numbers: numbers.iter().map(|n| (*n, *n)).collect(),
                    ranks: Vec::new(),
                });
                said.len() - 1
            });
            said[at].add(rank.rank, &numbers);
        }
    }
    let all = document.ranks.len();
    let lack = |said: &Said<'_>| Lack { about: said.about.to_owned(), text: said.text(), whose: said.whose(all) };
    said.iter().map(lack).collect()
}

/// What ranks say in the same words.
struct Said<'a> {
    about: &'a str,
    words: Vec<Word<'a>>,
    /// The least and the greatest of each number.
    numbers: Vec<(u64, u64)>,
    ranks: Vec<u32>,
}

impl Said<'_> {
    fn add(&mut self, rank: u32, numbers: &[u64]) {
        for ((least, greatest), number) in self.numbers.iter_mut().zip(numbers) {
            (*least, *greatest) = ((*least).min(*number), (*greatest).max(*number));
        }
        // A rank may say the same twice, with other numbers.
        if self.ranks.last() != Some(&rank) {
            self.ranks.push(rank);
        }
    }

    fn text(&self) -> String {
        let mut numbers = self.numbers.iter();
        let word = |word: &Word<'_>| match word {
            Word::Text(text) => (*text).to_owned(),
            Word::Number(after) => match numbers.next() {
                Some((least, greatest)) if least < greatest => format!("{least} to {greatest}{after}"),
                number => format!("{}{after}", number.map_or(0, |number| number.0)),
            },
        };
        self.words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn whose(&self, all: usize) -> String {
        match self.ranks[..] {
            [rank] => format!("rank {rank}"),
            _ if self.ranks.len() == all => "every rank".to_owned(),
            _ => format!("ranks {}", ranges(&self.ranks)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word<'a> {
    Text(&'a str),
    /// A number, and the sign that ends it.
    Number(&'a str),
}

/// The words of `text` and its numbers.
fn taken_apart(text: &str) -> (Vec<Word<'_>>, Vec<u64>) {
    let mut numbers = Vec::new();
    let mut is_quoted = false;
    let words = text.split(' ').map(|word| {
        let was_quoted = is_quoted;
        is_quoted ^= word.matches('"').count() % 2 == 1;
        let digits = word.trim_end_matches([',', ';', ':', '.']);
        match digits.parse() {
            Ok(number) if !was_quoted && digits.starts_with(|first: char| first.is_ascii_digit()) => {
                numbers.push(number);
                Word::Number(&word[digits.len()..])
            }
            _ => Word::Text(word),
        }
    });
    (words.collect(), numbers)
}

/// Ascending numbers, what follows one another in short; the first ranges where there are many.
fn ranges(numbers: &[u32]) -> String {
    const SHOWN: usize = 8;
    let runs: Vec<&[u32]> = numbers.chunk_by(|a, b| a + 1 == *b).collect();
    let run = |run: &&[u32]| match **run {
        [only] => only.to_string(),
        [first, second] => format!("{first}, {second}"),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    };
    let shown: Vec<String> = runs.iter().take(SHOWN).map(run).collect();
    let more: usize = runs.iter().skip(SHOWN).map(|run| run.len()).sum();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use rankscope_document::{Rank, TableNote, Tables};

    use super::*;

    fn job(notes: &[(u32, &[&str])]) -> Document {
        let note = |text: &&str| TableNote { about: "figures".to_owned(), text: (*text).to_owned() };
        let rank = |(rank, texts): &(u32, &[&str])| Rank {
            rank: *rank,
            tables: Some(Tables { notes: texts.iter().map(note).collect(), ..Tables::default() }),
            ..Rank::default()
        };
        Document { ranks: notes.iter().map(rank).collect(), ..Document::default() }
    }

    fn said(notes: &[(u32, &[&str])]) -> Vec<(String, String)> {
        lacks(&job(notes)).into_iter().map(|lack| (lack.whose, lack.text)).collect()
    }

    #[test]
    fn what_every_rank_lacks_is_said_once() {
        let card = r#"The card "RX 7900 XT" is not known."#;
        let [few, many] = ["3 calls launched 7 kernels, 2; no more.", "12 calls launched 7 kernels, 1; no more."];
        let both = said(&[(0, &[few, card]), (1, &[many, card]), (5, &[few, card])]);
        let expected = [("every rank", "3 to 12 calls launched 7 kernels, 1 to 2; no more."), ("every rank", card)];
        assert_eq!(both, expected.map(|(whose, text)| (whose.to_owned(), text.to_owned())));
    }

    #[test]
    fn numbers_in_names_make_two_sentences() {
        let quoted = [r#"The card "RX 7900 XT" is odd."#, r#"The card "RX 7800 XT" is odd."#];
        assert_eq!(said(&[(0, &quoted[..1]), (1, &quoted[1..])]).len(), 2);
        assert_eq!(said(&[(0, &["In rank0.json nothing ran."]), (1, &["In rank1.json nothing ran."])]).len(), 2);
        assert_eq!(said(&[(0, &["+1 of -1"]), (1, &["+2 of -1"])]).len(), 2, "no counts");
    }

    #[test]
    fn ranks_are_ranges_and_a_job_may_have_one() {
        let lack = ["A list was cut."];
        let of = |with: &[u32]| {
            let rank = |rank| (rank, if with.contains(&rank) { &lack[..] } else { &[] });
            said(&(0..40).map(rank).collect::<Vec<_>>()).remove(0).0
        };
        assert_eq!(of(&[3]), "rank 3");
        assert_eq!(of(&[0, 1, 2, 5, 8, 9]), "ranks 0 to 2, 5, 8, 9");
        assert_eq!(of(&(0..20).map(|half| 2 * half).collect::<Vec<_>>()), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more");
        assert_eq!(said(&[(7, &lack)]), [("rank 7".to_owned(), lack[0].to_owned())]);
        assert!(lacks(&Document::default()).is_empty());
    }
}
