//! Student's t and the normal distribution, asked only what they can answer.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// What |t| exceeds with chance `alpha`. None for an `alpha` outside 0 to 1, or degrees of freedom that are none.
pub(crate) fn quantile(alpha: f64, df: f64) -> Option<f64> {
    let possible = alpha > 0.0 && alpha < 1.0;
    let t = StudentsT::new(0.0, 1.0, df).ok().filter(|_| possible)?;
    // From the lower tail, where one minus a small number loses nothing.
    let step = |x: f64| x - (t.cdf(x) - alpha / 2.0) / t.pdf(x);
    // Of many degrees of freedom the inverse is right to four digits only; two of Newton's steps make ten of them.
    Some(-step(step(t.inverse_cdf(alpha / 2.0)))).filter(|t| t.is_finite())
}

/// The chance of |t| or more.
pub(crate) fn p(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, df).map_or(1.0, |student| (2.0 * student.cdf(-t.abs())).min(1.0))
}

/// What the absolute value of a normal number exceeds with chance `p`; infinite for 0, no number for what is no chance.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if (0.0..=1.0).contains(&p) { -Normal::standard().inverse_cdf(p / 2.0) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        // scipy.stats.t.isf(alpha / 2, df)
        let cases = [
            (0.05, 1.0, 12.706204736174705),
            (0.05, 2.0, 4.302652729749464),
            (0.05, 2.5, 3.5746548420036834),
            (0.05, 8.0, 2.3060041352041662),
            (0.05, 17.3, 2.107032003753469),
            (0.05, 100.0, 1.983971518523552),
            (0.05, 1_234.5, 1.9618874833313455),
            (0.05, 20_000.0, 1.9600826051581353),
            (0.05, 1e6, 1.9599663568141072),
            (0.01, 4.0, 4.604094871349993),
            (0.1, 28.0, 1.7011309342659318),
            (0.001, 2.0, 31.59905457644362),
            (0.001, 100.0, 3.3904913111642294),
            (1e-6, 2.0, 999.9992499998438),
            (1e-6, 28.0, 6.22541344547426),
            (1e-6, 20_000.0, 4.893163131925962),
        ];
        for (alpha, df, expected) in cases {
            close(quantile(alpha, df).unwrap(), expected);
        }
    }

    #[test]
    fn chances_are_those_of_scipy() {
        // 2 * scipy.stats.t.sf(t, df)
        let cases = [
            (0.1, 2.0, 0.9294654384141402),
            (2.0, 2.0, 0.18350341907227397),
            (2.306, 8.0, 0.050000322761284174),
            (-3.5, 17.3, 0.002684788370514295),
            (10.0, 4.0, 0.000562003622715991),
            (6.0, 20_000.0, 2.00714564112263e-09),
            (40.0, 30.0, 1.3726045194406417e-27),
        ];
        for (t, df, expected) in cases {
            close(p(t, df), expected);
        }
        // scipy.stats.norm.isf(p / 2)
        let normal =
            [(0.9, 0.12566134685507402), (0.05, 1.9599639845400545), (1e-8, 5.73072886823629), (1e-30, 11.523883577380248)];
        for (p, expected) in normal {
            close(normal_quantile(p), expected);
        }
    }

    #[test]
    fn questions_without_an_answer_have_none() {
        for (alpha, df) in [(0.0, 5.0), (1.0, 5.0), (-1.0, 5.0), (f64::NAN, 5.0), (0.05, 0.0), (0.05, -3.0), (0.05, f64::NAN)] {
            assert_eq!(quantile(alpha, df), None, "{alpha} {df}");
        }
        assert_eq!((p(f64::INFINITY, 3.0), p(f64::NAN, f64::NAN)), (0.0, 1.0));
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::INFINITY, 0.0));
        assert!(normal_quantile(-1.0).is_nan() && normal_quantile(f64::NAN).is_nan());
    }
}
