//! The macros of call sites: a static for the name and one for each key, and nothing evaluated while nothing is recorded.

/// Records the scope it stands in, until the guard is dropped. Off, this is one relaxed load, and no argument is evaluated.
///
/// ```
/// use rankscope_record::{Session, SessionOptions, record_function};
/// # use std::time::Duration;
/// # #[derive(Debug)]
/// # enum Stage { Warm }
///
/// fn forward(batch: usize, layers: &[String], stage: Stage) {
///     let _span = record_function!("forward", batch = batch, stage = ?stage, timeout = Duration::from_micros(1_500));
///     for layer in layers {
///         // A name that is not a literal: any text. It is interned, and names are bounded in number: what differs from call to
///         // call, such as the number of a request, is an argument.
///         let _span = record_function!(layer, kind = %format_args!("{layer}-{batch}"));
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// forward(32, &["attention".into(), "mlp".into()], Stage::Warm);
/// assert_eq!(session.stop()?.report.events(), 3);
/// # Ok(())
/// # }
/// ```
///
/// Arguments are `key = value` for what is [`ToValue`](crate::ToValue), `key = %value` for what is `Display`, and
/// `key = ?value` for what is `Debug`; the last two are formatted only while the span is recorded. They are borrowed.
///
/// A guard is for scopes of one thread. Over an `.await` use [`in_span!`](crate::in_span).
#[macro_export]
macro_rules! record_function {
    ($name:literal $(, $($args:tt)*)?) => {
        $crate::span_at!($name, $crate::Category::USER_ANNOTATION, $crate::Scope::UserScope $(, $($args)*)?)
    };
    ($name:expr $(, $($args:tt)*)?) => {
        $crate::span_at!($name, $crate::Category::USER_ANNOTATION, $crate::Scope::UserScope $(, $($args)*)?)
    };
}

/// Ends the span of a guard and records what comes next, for parts of a function that follow each other. Both are stamped with one
/// reading of the clock, so that nothing lies between them.
///
/// ```
/// use rankscope_record::{Session, SessionOptions, record_function, record_next};
///
/// fn step() {
///     let span = record_function!("forward");
///     // ...
///     let span = record_next!(span, "backward");
///     // ...
///     let _span = record_next!(span, "optimizer", fused = true);
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// step();
/// assert_eq!(session.stop()?.report.events(), 3);
/// # Ok(())
/// # }
/// ```
///
/// With a name that is no literal, or with arguments, the clock is read for the end and again for the begin.
#[macro_export]
macro_rules! record_next {
    ($guard:expr, $name:literal $(,)?) => {{
        static SITE: $crate::Site =
            $crate::Site::new($name, $crate::Category::USER_ANNOTATION).with_scope($crate::Scope::UserScope);
        $crate::SpanGuard::then($guard, &SITE)
    }};
    ($guard:expr, $name:expr $(, $($args:tt)*)?) => {{
        ::core::mem::drop::<$crate::SpanGuard>($guard);
        $crate::record_function!($name $(, $($args)*)?)
    }};
}

/// As [`record_function!`], for an operator of a framework: readers of traces tell operators from what a program says itself.
///
/// ```
/// use rankscope_record::{Session, SessionOptions, record_op};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// {
///     let _op = record_op!("aten::mm", shape = [64, 128]);
/// }
/// assert_eq!(session.stop()?.report.events(), 1);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! record_op {
    ($name:literal $(, $($args:tt)*)?) => {
        $crate::span_at!($name, $crate::Category::CPU_OP, $crate::Scope::Function $(, $($args)*)?)
    };
    ($name:expr $(, $($args:tt)*)?) => {
        $crate::span_at!($name, $crate::Category::CPU_OP, $crate::Scope::Function $(, $($args)*)?)
    };
}

/// As [`record_function!`], of any category and scope. Sessions choose by category, and viewers colour by it.
///
/// ```
/// use rankscope_record::{Category, Scope, Session, SessionOptions, span_at};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default().with_categories(Category::CUDA_RUNTIME.alone()))?;
/// {
///     let _call = span_at!("cudaLaunchKernel", Category::CUDA_RUNTIME, Scope::Function, correlation = 7);
///     let _not_wanted = span_at!("aten::mm", Category::CPU_OP, Scope::Function);
/// }
/// assert_eq!(session.stop()?.report.events(), 1);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! span_at {
    ($name:literal, $category:expr, $scope:expr $(,)?) => {{
        static SITE: $crate::Site = $crate::Site::new($name, $category).with_scope($scope);
        $crate::begin(&SITE)
    }};
    ($name:literal, $category:expr, $scope:expr, $($args:tt)+) => {{
        static SITE: $crate::Site = $crate::Site::new($name, $category).with_scope($scope);
        if $crate::is_on(SITE.category()) {
            $crate::begin_with(&SITE, $crate::__args!([] $($args)+))
        } else {
            $crate::SpanGuard::off()
        }
    }};
    ($name:expr, $category:expr, $scope:expr $(, $($args:tt)*)?) => {{
        static SITE: $crate::DynamicName = $crate::DynamicName::new($category, $scope);
        if $crate::is_on(SITE.category()) {
            $crate::begin_dynamic(&SITE, ::core::convert::AsRef::<str>::as_ref(&$name), $crate::__args!([] $($($args)*)?))
        } else {
            $crate::SpanGuard::off()
        }
    }};
}

/// Wraps a future so that it is recorded, as [`InSpan::in_span`](crate::InSpan::in_span) does, with a name that is interned once
/// and with arguments.
///
/// ```
/// use rankscope_record::in_span;
///
/// async fn request(id: u64) {
///     in_span!(async { /* ... */ }, "request", id = id).await;
/// }
/// # let _ = request(1);
/// ```
#[macro_export]
macro_rules! in_span {
    ($future:expr, $name:literal $(,)?) => {{
        static SITE: $crate::Site =
            $crate::Site::new($name, $crate::Category::USER_ANNOTATION).with_scope($crate::Scope::UserScope);
        $crate::InSpan::in_span($future, &SITE)
    }};
    ($future:expr, $name:literal, $($args:tt)+) => {{
        // First, since the future may take with it what they are made of.
        let args = if $crate::is_on($crate::Category::USER_ANNOTATION) {
            $crate::KeptArgs::of($crate::__args!([] $($args)+))
        } else {
            $crate::KeptArgs::default()
        };
        $crate::in_span!($future, $name).with_args(args)
    }};
}

/// A list of arguments, one after the other.
#[doc(hidden)]
#[macro_export]
macro_rules! __args {
    ([$($done:tt)*]) => {
        &[$($done)*]
    };
    ([$($done:tt)*] $key:ident = %$value:expr $(, $($rest:tt)*)?) => {
        $crate::__args!(
            [$($done)* ($crate::__key!($key), $crate::ToValue::to_value(&$crate::Formatted::display(&$value))),] $($($rest)*)?
        )
    };
    ([$($done:tt)*] $key:ident = ?$value:expr $(, $($rest:tt)*)?) => {
        $crate::__args!(
            [$($done)* ($crate::__key!($key), $crate::ToValue::to_value(&$crate::Formatted::debug(&$value))),] $($($rest)*)?
        )
    };
    ([$($done:tt)*] $key:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::__args!([$($done)* ($crate::__key!($key), $crate::ToValue::to_value(&$value)),] $($($rest)*)?)
    };
}

/// The number of a key.
#[doc(hidden)]
#[macro_export]
macro_rules! __key {
    ($key:ident) => {{
        static KEY: $crate::Site = $crate::Site::key(stringify!($key));
        KEY.id()
    }};
}
