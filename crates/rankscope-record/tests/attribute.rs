//! `#[recorded]` on functions of every kind: they compile, do what they did, and are spans with the fields they name.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Debug;
use std::future::Future;
use std::num::ParseIntError;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use rankscope_record::{ExportFormat, Session, SessionOptions, recorded};
use serde_json::{Value, json};

static RECORDING: Mutex<()> = Mutex::new(());

/// Names and arguments of the slices, in the order of their start.
fn slices(program: impl FnOnce()) -> Vec<(String, Value)> {
    let _alone = RECORDING.lock().unwrap();
    let session = Session::start(SessionOptions::default()).unwrap();
    program();
    let mut bytes = Vec::new();
    session.stop().unwrap().recorded.export_to(ExportFormat::KinetoJson, &mut bytes).unwrap();
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let mut slices: Vec<&Value> =
        document["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").collect();
    slices.sort_by(|a, b| a["ts"].as_f64().unwrap().total_cmp(&b["ts"].as_f64().unwrap()));
    slices.iter().map(|slice| (slice["name"].as_str().unwrap().to_owned(), slice["args"].clone())).collect()
}

fn names(program: impl FnOnce()) -> Vec<String> {
    slices(program).into_iter().map(|(name, _)| name).collect()
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
    let called = slices(|| {
        plain();
        assert_eq!(sum(&[1, 2, 3]), 6);
        assert!(parse("x").is_err());
        assert_eq!(shown(String::from("ab")).count(), 2);
        // SAFETY: it adds one.
        #[expect(unsafe_code, reason = "the function is unsafe")]
        let next = unsafe { foreign(1) };
        assert_eq!(next, 2);
    });
    let expected = [
        ("plain", Value::Null),
        ("sum of all", json!({ "count": 3, "first": "Some(1)" })),
        ("parse", json!({ "text": "x" })),
        ("shown", Value::Null),
        ("foreign", Value::Null),
    ];
    assert_eq!(called, expected.map(|(name, args)| (name.to_owned(), args)));
    assert_eq!(names(|| assert_eq!(early(2, (7, 8)), 7)), ["early"; 3]);
}

#[test]
fn methods_are_spans_with_fields_of_self() {
    let called = slices(|| {
        let mut model = Model { layers: Vec::new() };
        assert_eq!(model.forward("mlp".into()), "mlp");
        assert_eq!(model.into_layers(), ["mlp"]);
        assert!(5_u32.rewind());
    });
    assert_eq!(called[0], ("forward".to_owned(), json!({ "layers": 0 })));
    assert_eq!([&*called[1].0, &*called[2].0], ["consume", "provided"]);
}

#[test]
fn an_async_function_is_a_slice_a_poll() {
    let model = Model { layers: vec!["mlp".into()] };
    let called = slices(|| assert_eq!(run(model.send("41")), Ok(42)));
    assert_eq!(called, vec![("send".to_owned(), json!({ "to": "41" })); 2]);
    assert_eq!(names(|| assert!(run(model.send('x')).is_err())), ["send"; 2]);
    assert_eq!(names(|| assert_eq!(format!("{:?}", run(boxed(true)).unwrap()), "5")), ["boxed"]);
    assert_eq!(names(|| assert!(run(boxed(false)).is_err())), ["boxed"]);
    assert_eq!(names(|| assert_eq!(run(opaque()).count(), 1)), ["opaque"; 2]);
    assert_eq!(names(|| run(nothing())), ["nothing"; 2]);
    let mut source = 1_u32;
    assert_eq!(names(|| assert_eq!(run(source.next()), Some(0))), ["next item"; 2]);
    assert_eq!(names(|| assert_eq!(run(source.next()), None)), ["next item"; 1]);
    assert_eq!(names(|| assert_eq!(run(never_ready_twice(["a", "b"])), "b")), ["never_ready_twice"; 3]);
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
