//! One shell for every page: the head, the masthead, what the reader should know first, empty sections, and the script that
//! fills them from the document beside it.
//!
//! What all pages of a kind have in common is a [`Kind`], a constant; what one of them says is a [`Page`]. A page that needs more
//! than this needs it in the shell.

use minijinja::{Environment, Value, context};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rankscope_document::{Note, NoteLevel};
use serde::Serialize;

use super::budget::Cuts;
use super::embed;
use crate::Error;
use crate::text::clean;

/// What pages of one kind share.
pub(crate) struct Kind {
    /// In the title of the window, after the page's own.
    pub(crate) name: &'static str,
    /// Above the heading.
    pub(crate) kicker: &'static str,
    /// What the script draws, in the order of the page.
    pub(crate) sections: &'static [Section],
    /// The script's answers and a row of figures stand before everything that is text.
    pub(crate) answers: bool,
    /// A row of figures stands before the sections.
    pub(crate) tiles: bool,
    /// Where a page with sections has no finding; empty if nothing is to be concluded from that.
    pub(crate) no_findings: &'static str,
    pub(crate) footer: &'static str,
    /// Whether the script draws series, and uPlot stands before it.
    pub(crate) series: bool,
    /// The modules of `web/js` that draw it, put together by `build/main.rs`.
    pub(crate) script: &'static str,
}

/// A heading; the script puts the rest below it.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// The heading in a word, for the links.
    pub(crate) link: &'static str,
}

/// One page about to be rendered.
pub(crate) struct Page<'a, D> {
    pub(crate) kind: &'static Kind,
    pub(crate) title: &'a str,
    pub(crate) version: &'a str,
    pub(crate) facts: Vec<Fact>,
    /// Pages that lie beside it.
    pub(crate) links: &'a [PageLink],
    pub(crate) notes: &'a [Note],
    pub(crate) banner: Option<Banner>,
    /// Whether there is anything to draw.
    pub(crate) drawn: bool,
    /// What the script draws.
    pub(crate) document: &'a D,
    /// What was left out of it.
    pub(crate) cuts: Cuts,
}

/// A few words about what the page is of.
pub(crate) struct Fact {
    pub(crate) text: String,
    /// How far it can be trusted, where that is the question: a class of the style sheet.
    pub(crate) trust: Option<&'static str>,
}

impl From<String> for Fact {
    fn from(text: String) -> Self {
        Self { text, trust: None }
    }
}

/// Facts of which none is a question of trust.
pub(crate) fn plain_facts(texts: Vec<String>) -> Vec<Fact> {
    texts.into_iter().map(Fact::from).collect()
}

/// A way to another page on the same disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    text: String,
    address: String,
}

impl PageLink {
    /// What is found from the folder that the page lies in: one folder up for each of `up`, and then by these names. What a name holds is
    /// part of the name, whatever it means in addresses.
    pub fn to<'a>(text: String, up: usize, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(|name| utf8_percent_encode(name, NAME_BYTES).to_string());
        let address = std::iter::repeat_n("..".to_owned(), up).chain(names).collect::<Vec<_>>().join("/");
        Self { text, address }
    }

    /// For the template. An address has no character that means anything in markup: they are all written as numbers.
    fn value(&self) -> Value {
        context! { text => clean(&self.text), address => Value::from_safe_string(self.address.clone()) }
    }
}

/// What is not of a name is written as numbers.
const NAME_BYTES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What must be read before anything else.
pub(crate) struct Banner {
    pub(crate) strong: &'static str,
    pub(crate) text: &'static str,
}

impl Kind {
    /// For the template.
    fn values(&self) -> Value {
        let section = |section: &Section| context! { id => section.id, heading => section.heading, link => section.link };
        context! {
            name => self.name,
            kicker => self.kicker,
            sections => self.sections.iter().map(section).collect::<Vec<_>>(),
            answers => self.answers,
            tiles => self.tiles,
            no_findings => self.no_findings,
            footer => self.footer,
        }
    }
}

impl<D: Serialize> Page<'_, D> {
    pub(crate) fn render(self) -> Result<String, Error> {
        let mut environment = Environment::new();
        environment.add_template(NAME, include_str!("../../web/page.html"))?;
        let notes =
            |level| self.notes.iter().filter(|note| note.level == level).map(|note| clean(&note.text)).collect::<Vec<_>>();
        let series = self.drawn && self.kind.series;
        let answers = if self.kind.answers { ANSWERS } else { "" };
        let sheets = if series { [STYLE, HOUSE, answers, UPLOT_STYLE, SERIES] } else { [STYLE, HOUSE, answers, "", ""] };
        Ok(environment.get_template(NAME)?.render(context! {
            kind => self.kind.values(),
            title => clean(self.title),
            version => self.version,
            facts => self.facts.iter().map(|fact| context! { text => &fact.text, trust => fact.trust }).collect::<Vec<_>>(),
            links => self.links.iter().map(PageLink::value).collect::<Vec<_>>(),
            banner => self.banner.map(|banner| context! { strong => banner.strong, text => banner.text }),
            drawn => self.drawn,
            findings => notes(NoteLevel::Finding),
            cautions => notes(NoteLevel::Caution),
            problems => notes(NoteLevel::Problem),
            css => Value::from_safe_string(sheets.concat()),
            // A comment of its own, so that the licence goes wherever the page goes.
            library => series.then(|| Value::from_safe_string(format!("/*\n{UPLOT_LICENCE}\n*/\n{UPLOT}"))),
            script => Value::from_safe_string(self.kind.script.to_owned()),
            document => Value::from_safe_string(embed::json(self.document)),
            cuts => Value::from_safe_string(embed::json(&self.cuts)),
        })?)
    }
}

const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.css"));
/// Selection and closed sections.
const HOUSE: &str = include_str!(concat!(env!("OUT_DIR"), "/house.css"));
/// Of pages that begin with answers.
const ANSWERS: &str = include_str!(concat!(env!("OUT_DIR"), "/answers.css"));

/// Of pages that draw series.
const SERIES: &str = include_str!(concat!(env!("OUT_DIR"), "/series.css"));
/// As its authors publish it; `web/vendor/uplot/README.md` says where it is from.
const UPLOT: &str = include_str!("../../web/vendor/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../web/vendor/uplot/uPlot.min.css");
/// Goes with every copy.
const UPLOT_LICENCE: &str = include_str!("../../web/vendor/uplot/LICENSE");

/// Ends in `.html` so that the engine escapes what it inserts.
const NAME: &str = "page.html";
