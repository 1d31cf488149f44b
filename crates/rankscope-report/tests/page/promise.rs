//! The page's promise: every figure it shows is a number of the document, or one of the few things that layout may make of them.
//!
//! The list of these is in the documentation of `src/html.rs`; what is not in it here is not in it there.

use serde_json::Value;

/// Numbers that a page may show, without their signs.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    plain: Vec<f64>,
    /// Parts of a whole.
    parts: Vec<f64>,
}

impl Allowed {
    /// All that may be shown of a page's document and of what was cut from it.
    pub(crate) fn of(document: &Value, cuts: &Value) -> Self {
        let mut allowed = Self::default();
        allowed.gather(document);
        allowed.gather(cuts);
        allowed
    }

    fn gather(&mut self, value: &Value) {
        match value {
            Value::Number(number) => self.plain.extend(number.as_f64().map(f64::abs)),
            Value::String(text) => self.plain.extend(figures(text).map(|figure| figure.value)),
            Value::Array(list) => {
                self.plain.push(list.len() as f64);
                self.distances(if list.first().is_some_and(Value::is_object) { list } else { &[] });
                list.iter().for_each(|item| self.gather(item));
            }
            Value::Object(fields) => {
                self.parts(value);
                self.distances(value["start_ns"].as_array().map_or(&[], Vec::as_slice));
                fields.values().for_each(|field| self.gather(field));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// From the first start of a list, of records or of the starts themselves.
    fn distances(&mut self, list: &[Value]) {
        let start = |item: &Value| item.as_i64().or_else(|| item["start_ns"].as_i64());
        let starts: Vec<i64> = list.iter().filter_map(start).collect();
        let first = starts.iter().min().copied().unwrap_or(0);
        self.plain.extend(starts.iter().map(|start| (start - first) as f64));
    }

    fn parts(&mut self, fields: &Value) {
        let number = |value: &Value| value.as_f64();
        for whole in ["total", "mean_work"].into_iter().filter_map(|whole| number(&fields[whole])).filter(|whole| *whole > 0.0)
        {
            let of_this = fields.as_object().into_iter().flat_map(|object| object.values()).filter_map(number);
            let of_ranks = fields["ranks"].as_array().into_iter().flatten();
            let of_ranks = of_ranks.flat_map(|rank| ["work_before", "work_after"].map(|key| number(&rank[key]))).flatten();
            self.parts.extend(of_this.chain(of_ranks).map(|part| part / whole));
        }
        self.parts.extend(shares_of_table(fields));
        // Shares and percentages that the document has.
        let shares = ["ratio", "ratio_lo", "ratio_hi", "margin"].map(|key| number(&fields[key]));
        let percents = ["percent_change", "base_percent", "test_percent", "diff_percent"].map(|key| number(&fields[key]));
        self.parts.extend(shares.into_iter().flatten().map(f64::abs));
        self.parts.extend(percents.into_iter().flatten().map(|percent| (percent / 100.0).abs()));
        // A chance is written as a figure and a power of ten.
        if let Some(p) = number(&fields["p"]).filter(|p| *p > 0.0 && *p < 1.0) {
            let power = p.log10().floor();
            self.plain.extend([p / 10_f64.powf(power), -power]);
        }
        if let (Some(matched), Some(unmatched)) = (number(&fields["matched"]), number(&fields["unmatched"])) {
            self.plain.push(matched + unmatched);
        }
        if let (Some(lo), Some(hi)) = (fields["lo"].as_array(), fields["hi"].as_array()) {
            let halves = lo.iter().zip(hi).filter_map(|(lo, hi)| Some((number(hi)? - number(lo)?) / 2.0));
            self.plain.extend(halves.map(f64::abs));
        }
    }

    /// The figures of a text that are not allowed.
    pub(crate) fn strangers(&self, text: &str) -> Vec<String> {
        figures(text).filter(|figure| !self.explains(figure)).map(|figure| format!("{} in {text:?}", figure.text)).collect()
    }

    fn explains(&self, figure: &Figure<'_>) -> bool {
        let among = |numbers: &[f64], scale: f64| {
            // Half of the last digit, and what rounding twice may add.
            let half = 0.5001 * 0.1_f64.powi(figure.decimals) * scale;
            numbers.iter().any(|number| (figure.value * scale - number).abs() <= half)
        };
        match figure.unit {
            "%" => among(&self.parts, 0.01),
            "×" => among(&self.parts, 1.0),
            // In a column whose heading has the unit, a count, or the lower end of a range.
            "" => {
                [1.0, 1e3, 1e6, 1e9].iter().any(|scale| among(&self.plain, *scale))
                    || [1.0, 0.01].iter().any(|scale| among(&self.parts, *scale))
            }
            unit => UNITS.iter().filter(|(name, _)| *name == unit).any(|(_, scale)| among(&self.plain, *scale)),
        }
    }
}

/// The values of those columns of a page's table that are parts of a whole.
fn shares_of_table(table: &Value) -> Vec<f64> {
    let columns = table["columns"].as_array().into_iter().flatten();
    let shares: Vec<usize> = columns.enumerate().filter(|(_, column)| column["kind"] == "share").map(|(at, _)| at).collect();
    let rows = || table["rows"].as_array().into_iter().flatten();
    shares.iter().flat_map(|at| rows().filter_map(|row| row[*at].as_f64())).map(f64::abs).collect()
}

/// Rates are in GB/s in documents, and clock drifts in ppm or ppb.
const UNITS: [(&str, f64); 16] = [
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("B/s", 1e-9),
    ("kB/s", 1e-6),
    ("MB/s", 1e-3),
    ("GB/s", 1.0),
    ("ppm", 1.0),
    ("ppm", 1e3),
    ("round", 1.0),
];

/// A number in a text, with its unit where one follows a narrow space.
struct Figure<'a> {
    text: &'a str,
    value: f64,
    decimals: i32,
    unit: &'a str,
}

fn figures(text: &str) -> impl Iterator<Item = Figure<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = rest.find(|c: char| c.is_ascii_digit())?;
        let digits = &rest[begin..];
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(digits.len());
        let number = digits[..end].trim_end_matches(['.', ',']);
        let after = &digits[number.len()..];
        let unit = after.strip_prefix('\u{202f}').unwrap_or_default();
        let unit = &unit[..unit.find(|c: char| c.is_whitespace() || ",.)–;".contains(c)).unwrap_or(unit.len())];
        rest = after;
        let plain = number.replace(',', "");
        let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        // A version or an address has two points; no figure has.
        Some(Figure { text: number, value: plain.parse().unwrap_or(0.0), decimals, unit })
    })
}
