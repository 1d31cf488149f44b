//! `#[recorded]` on functions of every kind: they compile, do what they did, and are spans with the fields they name.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod tree;

use std::fmt::Debug;
use std::future::Future;
use std::num::ParseIntError;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use rankscope_record::{Session, SessionOptions, recorded};
use tree::tree;

static RECORDING: Mutex<()> = Mutex::new(());

/// What `program` records.
fn recorded_by(program: impl FnOnce()) -> Vec<String> {
    let _alone = RECORDING.lock().unwrap();
    let session = Session::start(SessionOptions::default()).unwrap();
    program();
    let recorded = session.stop().unwrap().recorded;
    tree(&recorded.open().unwrap(), recorded.cut())
}

/// A slice a poll, and what ties them: the async span tells where the future was made.
fn polled_twice(name: &str, args: &str) -> Vec<String> {
    let slice = format!("{name} [user_annotation]{args}");
    let begin = format!("  async 0 begin: {name} [user_annotation] (resumed){args}");
    vec![slice.clone(), begin, slice, format!("  flow 0 step: {name}"), format!("  async 0 end: {name}")]
}

/// Runs a future that needs nobody to wake it.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// Pending once.
async fn rest() {
    let mut rested = false;
    std::future::poll_fn(|_| if std::mem::replace(&mut rested, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[recorded]
fn plain() {}

#[recorded(name = "sum of all", fields(count = values.len(), first = ?values.first()))]
fn sum<T: Copy + Debug + std::iter::Sum>(values: &[T]) -> T {
    values.iter().copied().sum()
}

#[recorded(fields(text = text))]
fn parse(text: &str) -> Result<i32, ParseIntError> {
    let number: i32 = text.parse()?;
    Ok(number)
}

#[recorded]
fn early(mut n: u32, (a, _b): (u32, u32)) -> u32 {
    if n == 0 {
        return a;
    }
    n -= 1;
    early(n, (a, 0))
}

#[must_use]
#[recorded]
fn shown<'a>(what: impl AsRef<str> + 'a) -> impl Iterator<Item = char> + 'a {
    what.as_ref().chars().collect::<Vec<_>>().into_iter()
}

#[recorded]
unsafe extern "C" fn foreign(number: i32) -> i32 {
    number + 1
}

struct Model {
    layers: Vec<String>,
}

impl Model {
    #[recorded(fields(layers = self.layers.len()))]
    pub fn forward(&mut self, input: String) -> String {
        self.layers.push(input.clone());
        input
    }

    #[recorded(name = "consume")]
    fn into_layers(self) -> Vec<String> {
        self.layers
    }

    #[recorded(fields(to = %to))]
    async fn send<T: std::fmt::Display>(&self, to: T) -> Result<usize, ParseIntError> {
        rest().await;
        let number: usize = to.to_string().parse()?;
        Ok(number + self.layers.len())
    }
}

trait Source {
    async fn next(&mut self) -> Option<u32>;

    #[recorded(name = "provided")]
    fn rewind(&mut self) -> bool {
        true
    }
}

impl Source for u32 {
    #[recorded(name = "next item", fields(left = *self))]
    async fn next(&mut self) -> Option<u32> {
        *self = self.checked_sub(1)?;
        rest().await;
        Some(*self)
    }
}

#[recorded]
async fn never_ready_twice<'a, const N: usize>(parts: [&'a str; N]) -> &'a str
where
    [(); N]: Sized,
{
    rest().await;
    rest().await;
    parts[N - 1]
}

#[recorded]
async fn boxed(ready: bool) -> Result<Box<dyn Debug>, Box<dyn std::error::Error>> {
    if !ready {
        return Err("not ready".into());
    }
    Ok(Box::new(5))
}

#[recorded]
async fn opaque() -> impl Iterator<Item = u8> {
    rest().await;
    std::iter::once(1)
}

#[recorded]
async fn nothing() {
    rest().await;
}

#[test]
fn functions_do_what_they_did_and_are_spans() {
    let called = recorded_by(|| {
        plain();
        assert_eq!(sum(&[1, 2, 3]), 6);
        assert!(parse("x").is_err());
        assert_eq!(shown(String::from("ab")).count(), 2);
        // SAFETY: it adds one.
        #[expect(unsafe_code, reason = "the function is unsafe")]
        let next = unsafe { foreign(1) };
        assert_eq!(next, 2);
    });
    assert_eq!(
        called,
        [
            "plain [user_annotation]",
            "sum of all [user_annotation] count=3 first='Some(1)'",
            "parse [user_annotation] text='x'",
            "shown [user_annotation]",
            "foreign [user_annotation]",
        ]
    );
    let called = recorded_by(|| assert_eq!(early(2, (7, 8)), 7));
    assert_eq!(called, ["early [user_annotation]", "  early [user_annotation]", "    early [user_annotation]"]);
}

#[test]
fn methods_are_spans_with_fields_of_self() {
    let called = recorded_by(|| {
        let mut model = Model { layers: Vec::new() };
        assert_eq!(model.forward("mlp".into()), "mlp");
        assert_eq!(model.into_layers(), ["mlp"]);
        assert!(5_u32.rewind());
    });
    assert_eq!(called, ["forward [user_annotation] layers=0", "consume [user_annotation]", "provided [user_annotation]"]);
}

#[test]
fn an_async_function_is_a_slice_a_poll() {
    let model = Model { layers: vec!["mlp".into()] };
    assert_eq!(recorded_by(|| assert_eq!(run(model.send("41")), Ok(42))), polled_twice("send", " to='41'"));
    assert_eq!(recorded_by(|| assert!(run(model.send('x')).is_err())), polled_twice("send", " to='x'"));
    assert_eq!(recorded_by(|| assert_eq!(format!("{:?}", run(boxed(true)).unwrap()), "5")), ["boxed [user_annotation]"]);
    assert_eq!(recorded_by(|| assert!(run(boxed(false)).is_err())), ["boxed [user_annotation]"]);
    assert_eq!(recorded_by(|| assert_eq!(run(opaque()).count(), 1)), polled_twice("opaque", ""));
    assert_eq!(recorded_by(|| run(nothing())), polled_twice("nothing", ""));
    let mut source = 1_u32;
    assert_eq!(recorded_by(|| assert_eq!(run(source.next()), Some(0))), polled_twice("next item", " left=1"));
    assert_eq!(recorded_by(|| assert_eq!(run(source.next()), None)), ["next item [user_annotation] left=0"]);
    assert_eq!(
        recorded_by(|| assert_eq!(run(never_ready_twice(["a", "b"])), "b")),
        [
            "never_ready_twice [user_annotation]",
            "  async 0 begin: never_ready_twice [user_annotation] (resumed)",
            "never_ready_twice [user_annotation]",
            "  flow 0 step: never_ready_twice",
            "never_ready_twice [user_annotation]",
            "  flow 0 step: never_ready_twice",
            "  async 0 end: never_ready_twice",
        ]
    );
}

/// What a spawned task has to be.
fn sendable<T: Send>(value: T) -> T {
    value
}

#[test]
fn a_recorded_future_stays_send() {
    let model = Model { layers: Vec::new() };
    assert_eq!(run(sendable(model.send("1"))), Ok(1));
}
