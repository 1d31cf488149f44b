//! The operators of one sort out of `unified_perf_summary`, with their parameters in the place of their recorded inputs.

use rankscope_document::{Document, OperatorSheet, Row};
use serde_json::Value;

use super::{PARAM, TableView, of_ranks};

/// What parameters say in the words of the model, and what the sheet says itself.
const LEFT_OUT: [&str; 5] = ["category", "input_dims", "input_types", "input_strides", "concrete_inputs"];

/// Who it is, how much time it takes and how much of that could be saved: these are in front.
const IN_FRONT: [&str; 6] = ["rank", "name", "model", "count", "kernel_ns", "saved_ns"];

/// The operators of every rank of `document` that belong to `sheet`; none where no rank has `unified_perf_summary`.
pub fn operators(document: &Document, sheet: OperatorSheet) -> Option<TableView> {
    let rows = of_ranks(document, "unified_perf_summary")?;
    let model = rows.column("model");
    let is_of = |row: &Row| {
        let model = model.and_then(|at| row.values[at].text());
        model.is_some_and(|model| sheet.models().contains(&model))
    };
    let view = TableView::of(&rows, is_of);
    let is_param = |at: &usize| view.columns[*at].starts_with(PARAM);
    let in_front: Vec<usize> =
        IN_FRONT.iter().filter_map(|name| view.columns.iter().position(|column| column == name)).collect();
    let is_kept = |at: &usize| !LEFT_OUT.contains(&view.columns[*at].as_str()) && !in_front.contains(at);
    let (params, others): (Vec<usize>, Vec<usize>) = (0..view.columns.len()).filter(is_kept).partition(is_param);
    let order: Vec<usize> = in_front.into_iter().chain(params).chain(others).collect();
    let pick = |row: &Vec<Value>| order.iter().map(|at| row[*at].clone()).collect();
    Some(TableView {
        name: sheet.name().to_owned(),
        columns: order.iter().map(|at| view.columns[*at].clone()).collect(),
        rows: view.rows.iter().map(pick).collect(),
    })
}

#[cfg(test)]
mod tests {
    use rankscope_document::{OperatorPerformance, Param, Params, Rank, Tables};

    use super::*;

    fn operator(name: &str, model: &str, params: &[(&str, Param)]) -> OperatorPerformance {
        let json = serde_json::json!({"name": name, "category": "x", "model": model, "count": 1, "kernel_ns": 5, "flops": 7});
        let mut row: OperatorPerformance = serde_json::from_value(json).unwrap();
        row.params = Params(params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
        row
    }

    #[test]
    fn a_sheet_has_the_operators_of_its_models_and_their_parameters() {
        let shape = Param::List(vec![Param::Whole(2), Param::Whole(3)]);
        let rows = vec![
            operator("aten::convolution", "conv_fwd", &[("groups", Param::Whole(1)), ("stride", shape)]),
            operator("aten::mm", "gemm", &[("M", Param::Whole(4))]),
            operator(
                "aten::convolution_backward",
                "conv_bwd",
                &[("groups", Param::Whole(2)), ("stride", Param::List(Vec::new()))],
            ),
        ];
        let tables = Tables { unified_perf_summary: Some(rows), ..Tables::default() };
        let rank = Rank { tables: Some(tables), ..Rank::default() };
        let document = Document { ranks: vec![rank], ..Document::default() };
        let view = operators(&document, OperatorSheet::Conv).unwrap();
        let columns = ["rank", "name", "model", "count", "kernel_ns", "saved_ns", "param: groups", "param: stride", "flops"];
        assert_eq!(view.columns[..9], columns);
        let cells: Vec<_> = view.rows.iter().map(|row| (row[6].clone(), row[7].clone())).collect();
        assert_eq!(cells, [(1.into(), serde_json::json!([2, 3])), (2.into(), serde_json::json!([]))]);
        let text = view.text("a job", 2, crate::Style { color: false, width: 200 });
        assert!(text.contains("stride") && text.contains("(2, 3)"), "{text}");
        assert!(operators(&document, OperatorSheet::Norm).unwrap().rows.is_empty());
        assert!(operators(&Document::default(), OperatorSheet::Norm).is_none());
    }
}
