//! Arguments with a meaning become fields of an event; counts of operations follow from shapes.

use serde_json::Value as Json;

use super::ProfilerConfig;
use super::callbacks::Scopes;
use super::event::{Details, KinetoEvent, Metadata, Shape};
use super::keys::Key;

/// What of the events is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    pub(super) scopes: Scopes,
    pub(super) verbose: bool,
    pub(super) flops: bool,
}

impl Wishes {
    pub(super) fn of(config: &ProfilerConfig, scopes: Scopes) -> Self {
        Self { scopes, verbose: config.experimental.verbose, flops: config.with_flops }
    }
}

/// Sets the field that `key` names. A value of a kind that the field cannot take leaves the default.
pub(super) fn set(details: &mut Details, key: Key, value: Metadata, wishes: Wishes) {
    details.keeps_kwinputs = wishes.verbose;
    let device = |details: &Details| details.device.unwrap_or((1, -1));
    match key {
        Key::InputDims => details.shapes = shapes(&value),
        Key::InputStrides if wishes.verbose => details.strides = shapes(&value),
        Key::InputStrides => {}
        Key::InputType => details.dtypes = texts(&value),
        Key::ConcreteInputs => details.concrete_inputs = texts(&value),
        Key::SequenceNumber => details.sequence_nr = value.as_i64().unwrap_or(-1),
        Key::FwdThreadId => details.fwd_thread_id = value.as_u64().unwrap_or(0),
        Key::RecordFunctionId => details.record_function_id = value.as_u64().unwrap_or(0),
        Key::ExternalId => details.external_id = value.as_u64(),
        Key::CallStack => details.stack = split(value, ';'),
        Key::ModuleHierarchy => details.module_hierarchy = split(value, '.'),
        Key::Backend => details.backend = value.into_text(),
        Key::DebugHandle => details.debug_handle = value.as_i64().unwrap_or(-1),
        Key::OverloadName => details.overload_name = value.into_text(),
        Key::PythonId => details.python[0] = value.as_i64().unwrap_or(-1),
        Key::PythonParentId => details.python[1] = value.as_i64().unwrap_or(-1),
        Key::PythonModuleId => details.python[2] = value.as_i64().unwrap_or(-1),
        Key::Device => {
            let index = value.as_i64().and_then(|index| i16::try_from(index).ok()).unwrap_or(-1);
            details.device = Some((device(details).0, index));
        }
        Key::Stream => details.resource_id = value.as_i64(),
    }
}

fn split(value: Metadata, at: char) -> Vec<String> {
    value.into_text().split(at).map(str::to_owned).collect()
}

fn parsed(value: &Metadata) -> Vec<Json> {
    match value {
        Metadata::Json(text) | Metadata::Text(text) => serde_json::from_str(text).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn texts(value: &Metadata) -> Vec<String> {
    parsed(value).into_iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
}

fn shapes(value: &Metadata) -> Vec<Shape> {
    let numbers = |list: &Json| list.as_array().into_iter().flatten().filter_map(Json::as_i64).collect::<Vec<_>>();
    let shape = |input: &Json| match input.as_array() {
        Some(items) if items.iter().any(Json::is_array) => Shape::TensorList(items.iter().map(numbers).collect()),
        _ => Shape::Tensor(numbers(input)),
    };
    parsed(value).iter().map(shape).collect()
}

/// Counts the operations of an op, where its name and shapes tell them; a multiplication and an addition count as two.
pub(super) fn count_flops(event: &mut KinetoEvent) {
    let flops = flops(&event.name, event.structured_input_shapes());
    if let Some(flops) = flops {
        event.details_mut().flops = flops;
    }
}

fn flops(name: &str, shapes: &[Shape]) -> Option<u64> {
    let tensor = |place: usize| match shapes.get(place) {
        Some(Shape::Tensor(sizes)) => sizes.iter().map(|size| u64::try_from(*size).ok()).collect::<Option<Vec<u64>>>(),
        _ => None,
    };
    let product = |sizes: &[u64]| sizes.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
    match name {
        "aten::mm" | "aten::addmm" | "aten::bmm" | "aten::baddbmm" => {
            let first = usize::from(name.contains("add"));
            let (a, b) = (tensor(first)?, tensor(first + 1)?);
            let is_matrix = a.len() == b.len() && a.len() == if name.contains("bmm") { 3 } else { 2 };
            let fits = is_matrix && a.last() == b.get(b.len() - 2);
            // Rows and inner length of one, columns of the other.
            fits.then(|| product(&a)?.checked_mul(*b.last()?)?.checked_mul(2)).flatten()
        }
        "aten::add" | "aten::mul" => product(&tensor(0)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_follow_from_shapes() {
        let shapes = |list: &[&[i64]]| list.iter().map(|sizes| Shape::Tensor(sizes.to_vec())).collect::<Vec<_>>();
        type Case<'a> = (&'a str, &'a [&'a [i64]], Option<u64>);
        let cases: [Case<'_>; 8] = [
            ("aten::mm", &[&[2, 3], &[3, 4]], Some(48)),
            ("aten::mm", &[&[2, 3], &[4, 4]], None),
            ("aten::addmm", &[&[4], &[2, 3], &[3, 4]], Some(48)),
            ("aten::bmm", &[&[5, 2, 3], &[5, 3, 4]], Some(240)),
            ("aten::baddbmm", &[&[1], &[5, 2, 3], &[5, 3, 4]], Some(240)),
            ("aten::mul", &[&[6, 7], &[7]], Some(42)),
            ("aten::mul", &[&[i64::MAX, 7]], None),
            ("aten::relu", &[&[6]], None),
        ];
        for (name, list, expected) in cases {
            assert_eq!(flops(name, &shapes(list)), expected, "{name} {list:?}");
        }
    }

    #[test]
    fn lists_of_tensors_are_told_from_tensors() {
        let read = shapes(&Metadata::Json("[[2,3],[[2],[3,4]],[],7]".into()));
        let expected = [vec![2, 3], vec![], vec![]].map(Shape::Tensor);
        assert_eq!(read[0], expected[0]);
        assert_eq!(read[1], Shape::TensorList(vec![vec![2], vec![3, 4]]));
        assert_eq!(read[2..], expected[1..]);
        assert_eq!(shapes(&Metadata::Json("no json".into())), []);
    }
}
