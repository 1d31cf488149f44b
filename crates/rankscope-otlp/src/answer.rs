//! What a collector's answer means.
//!
//! The status decides. Only what OTLP says may be tried again is (429, 502, 503, 504), and nothing else, because it would be refused again. A
//! 200 may say that some of it was left out.

use std::fmt;
use std::time::Duration;

use rankscope_formats::wire::Fields;
use rankscope_report::steers;

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Of HTTP.
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
    /// The header `Content-Type`.
    pub content_type: Option<String>,
    /// As much of the body as is worth reading.
    pub body: Vec<u8>,
}

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there, perhaps with a remark.
    Accepted(Option<Trouble>),
    /// Not now; the other side may have said when.
    Later(Trouble, Option<Duration>),
    /// Not this one, however often it comes.
    Refused(Trouble),
}

/// What is wrong. Words of the other side are short and steer no terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Nobody answers, or not in HTTP.
    Unreachable(String),
    /// It has too much to do, or what is behind it does not answer.
    Busy(u16),
    /// It does not want this.
    Status(u16, String),
    /// It left series out.
    Partial(u64, String),
    /// It has a remark.
    Remark(String),
    /// It says that all is well in words that are not a collector's.
    Stranger(String),
}

impl Trouble {
    /// Whether both are told as one.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Status(one, _), Self::Status(two, _)) => one == two,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(reason) => write!(f, "does not answer ({reason}); it is tried again and again"),
            Self::Busy(status) => write!(f, "has too much to do (status {status}); it is tried again and again"),
            Self::Status(status, words) if words.is_empty() => write!(f, "refuses figures with status {status}"),
            Self::Status(status, words) => write!(f, "refuses figures with status {status}: {words}"),
            Self::Partial(count, words) => write!(f, "left out {count} series: {words}"),
            Self::Remark(words) => write!(f, "takes figures and says: {words}"),
            Self::Stranger(kind) => write!(f, "takes figures and answers as no collector does ({kind}); is it one?"),
        }
    }
}

/// What is shown of another's words.
const SHOWN_MAX: usize = 200;

impl Outcome {
    /// What `answer` means.
    pub fn of(answer: &Answer) -> Self {
        match answer.status {
            200..=299 => Self::Accepted(remark(answer)),
            status @ (429 | 502 | 503 | 504) => Self::Later(Trouble::Busy(status), seconds(answer.retry_after.as_deref())),
            status => Self::Refused(Trouble::Status(status, reason(answer))),
        }
    }
}

/// Of `Retry-After`, if it is a number; a date is of another clock.
fn seconds(text: Option<&str>) -> Option<Duration> {
    text?.trim().parse().ok().map(Duration::from_secs)
}

/// What an answer that all is well says beside that.
fn remark(answer: &Answer) -> Option<Trouble> {
    if answer.body.is_empty() {
        return None;
    }
    if !is_protobuf(answer) {
        // Others answer as they like: `{}` is an empty message in JSON.
        let is_json = answer.content_type.as_deref().is_some_and(|kind| kind.starts_with("application/json"));
        let kind = answer.content_type.as_deref().unwrap_or("without a type");
        return if is_json { None } else { Some(Trouble::Stranger(shown(kind))) };
    }
    let mut partial = None;
    for field in Fields::of(&answer.body) {
        match field {
            Ok((1, value)) => partial = Some(value.bytes()),
            Ok(_) => {}
            Err(_) => return Some(Trouble::Stranger("what it sends is no protobuf".to_owned())),
        }
    }
    let (mut count, mut words) = (0, String::new());
    for (field, value) in Fields::of(partial?).map_while(Result::ok) {
        match field {
            1 => count = value.u64(),
            2 => words = shown(&String::from_utf8_lossy(value.bytes())),
            _ => {}
        }
    }
    match (count, words.is_empty()) {
        (0, true) => None,
        (0, false) => Some(Trouble::Remark(words)),
        (count, _) => Some(Trouble::Partial(count, words)),
    }
}

/// Why it was refused: the message of a `google.rpc.Status`, or plain text.
fn reason(answer: &Answer) -> String {
    if is_protobuf(answer) {
        let message = Fields::of(&answer.body).map_while(Result::ok).find(|(field, _)| *field == 2);
        return message.map(|(_, value)| shown(&String::from_utf8_lossy(value.bytes()))).unwrap_or_default();
    }
    let is_page = answer.content_type.as_deref().is_some_and(|kind| kind.contains("html"));
    if is_page { String::new() } else { shown(&String::from_utf8_lossy(&answer.body)) }
}

fn is_protobuf(answer: &Answer) -> bool {
    answer.content_type.as_deref().is_some_and(|kind| kind.starts_with("application/x-protobuf"))
}

/// One short line that steers nothing.
pub(crate) fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !steers(*c)).take(SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rankscope_formats::wire::Encoder;

    fn answer(status: u16, kind: &str, body: &[u8]) -> Answer {
        Answer { status, content_type: Some(kind.to_owned()), body: body.to_vec(), ..Answer::default() }
    }

    fn partial(count: u64, words: &str) -> Vec<u8> {
        let mut message = Encoder::default();
        message.message(1, |partial| {
            partial.varint(1, count).string(2, words);
        });
        message.into_bytes()
    }

    const PROTOBUF: &str = "application/x-protobuf";

    #[test]
    fn only_what_may_be_tried_again_is() {
        for status in 100..600 {
            let outcome = Outcome::of(&Answer { status, ..Answer::default() });
            let is_later = matches!(outcome, Outcome::Later(..));
            assert_eq!(is_later, [429, 502, 503, 504].contains(&status), "{status}");
            assert_eq!(matches!(outcome, Outcome::Accepted(None)), (200..300).contains(&status), "{status}");
        }
        let asked =
            |text: &str| match Outcome::of(&Answer { status: 429, retry_after: Some(text.to_owned()), ..Answer::default() }) {
                Outcome::Later(_, asked) => asked,
                other => panic!("{other:?}"),
            };
        assert_eq!(asked(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!((asked("-1"), asked("Fri, 31 Dec 1999 23:59:59 GMT")), (None, None));
    }

    #[test]
    fn what_was_left_out_is_said_in_words_that_steer_nothing() {
        let words = "too old\n\u{1b}[2J";
        let outcome = Outcome::of(&answer(200, PROTOBUF, &partial(3, words)));
        assert_eq!(outcome, Outcome::Accepted(Some(Trouble::Partial(3, "too old [2J".to_owned()))));
        assert_eq!(Outcome::of(&answer(200, PROTOBUF, &partial(0, ""))), Outcome::Accepted(None));
        let remark = Outcome::of(&answer(200, PROTOBUF, &partial(0, "slow down")));
        assert_eq!(remark, Outcome::Accepted(Some(Trouble::Remark("slow down".to_owned()))));
        assert_eq!(Outcome::of(&answer(200, "application/json", b"{}")), Outcome::Accepted(None));
        let page = Outcome::of(&answer(200, "text/html", b"<html>welcome"));
        assert_eq!(page, Outcome::Accepted(Some(Trouble::Stranger("text/html".to_owned()))));
    }

    #[test]
    fn why_it_was_refused_is_said() {
        let mut status = Encoder::default();
        status.varint(1, 3).string(2, "no such tenant");
        let outcome = Outcome::of(&answer(400, PROTOBUF, status.bytes()));
        assert_eq!(outcome, Outcome::Refused(Trouble::Status(400, "no such tenant".to_owned())));
        let plain = Outcome::of(&answer(401, "text/plain", b"who are you?\n"));
        assert_eq!(plain, Outcome::Refused(Trouble::Status(401, "who are you?".to_owned())));
        assert_eq!(Outcome::of(&answer(404, "text/html", b"<h1>")), Outcome::Refused(Trouble::Status(404, String::new())));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_understood_or_left(body in prop::collection::vec(any::<u8>(), 0..64), status in 100u16..600) {
            for kind in [PROTOBUF, "text/plain", "application/json", ""] {
                let outcome = Outcome::of(&answer(status, kind, &body));
                let trouble = match &outcome {
                    Outcome::Accepted(trouble) => trouble.as_ref(),
                    Outcome::Later(trouble, _) | Outcome::Refused(trouble) => Some(trouble),
                };
                let said = trouble.map(ToString::to_string).unwrap_or_default();
                prop_assert!(said.chars().count() < 2 * SHOWN_MAX && !said.chars().any(steers), "{said:?}");
            }
        }
    }
}
