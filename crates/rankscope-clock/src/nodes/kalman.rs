//! A clock as a state of two numbers, offset and skew, of which the skew walks at random.
//!
//! Over `t` seconds the offset gains `skew * t`, and a walk of `q` ppb per square root of a second adds the covariance
//! `q^2 [[t^3/3, t^2/2], [t^2/2, t]]` (a nanosecond a second is one part per billion, so no unit needs a factor). Offsets are
//! differences from a line that is kept elsewhere in integers.

/// Mean and covariance.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClockState {
    pub(super) offset_ns: f64,
    pub(super) skew_ppb: f64,
    variance: f64,
    covariance: f64,
    skew_variance: f64,
}

impl ClockState {
    pub(super) fn new(offset_ns: f64, sigma_ns: f64, skew_ppb: f64, skew_sigma_ppb: f64) -> Self {
        let (variance, skew_variance) = (sigma_ns * sigma_ns, skew_sigma_ppb * skew_sigma_ppb);
        Self { offset_ns, skew_ppb, variance, covariance: 0.0, skew_variance }
    }

    /// What is to be expected `t` seconds later, the skew walking `q` ppb.
    pub(super) fn predicted(&self, t: f64, q: f64) -> Self {
        let noise = q * q;
        Self {
            offset_ns: self.offset_ns + self.skew_ppb * t,
            skew_ppb: self.skew_ppb,
            variance: self.variance + t * (2.0 * self.covariance + t * (self.skew_variance + noise * t / 3.0)),
            covariance: self.covariance + t * (self.skew_variance + noise * t / 2.0),
            skew_variance: self.skew_variance + noise * t,
        }
    }

    /// What is known after measuring `offset_ns`; and how surprising that was: the square of the surprise over its variance, and
    /// that variance.
    pub(super) fn updated(&self, offset_ns: f64, sigma_ns: f64) -> (Self, f64, f64) {
        let variance = self.variance + sigma_ns * sigma_ns;
        let surprise = offset_ns - self.offset_ns;
        let (gain, skew_gain) = (self.variance / variance, self.covariance / variance);
        let after = Self {
            offset_ns: self.offset_ns + gain * surprise,
            skew_ppb: self.skew_ppb + skew_gain * surprise,
            variance: (1.0 - gain) * self.variance,
            covariance: (1.0 - gain) * self.covariance,
            skew_variance: self.skew_variance - skew_gain * self.covariance,
        };
        (after, surprise * surprise / variance, variance)
    }

    /// The same, offsets counted from another line that is `by_ns` higher here.
    pub(super) fn rebased(&self, by_ns: f64) -> Self {
        Self { offset_ns: self.offset_ns - by_ns, ..*self }
    }

    /// This state in the light of all that came later (Rauch, Tung and Striebel 1965): `expected` was predicted from it for `t`
    /// seconds later, where `known` is the state in the light of everything. What is guaranteed comes from elsewhere.
    pub(super) fn smoothed(&self, t: f64, expected: &Self, known: &Self) -> Self {
        let determinant = expected.variance * expected.skew_variance - expected.covariance * expected.covariance;
        if determinant <= 0.0 {
            return *self;
        }
        // The gain is P F' / expected covariance.
        let (a, b) = (self.variance + t * self.covariance, self.covariance);
        let (c, d) = (self.covariance + t * self.skew_variance, self.skew_variance);
        let through = |offset: f64, skew: f64| {
            (
                (offset * expected.skew_variance - skew * expected.covariance) / determinant,
                (skew * expected.variance - offset * expected.covariance) / determinant,
            )
        };
        let ((offset_offset, offset_skew), (skew_offset, skew_skew)) = (through(a, b), through(c, d));
        let (offset, skew) = (known.offset_ns - expected.offset_ns, known.skew_ppb - expected.skew_ppb);
        // The covariance gains G (known - expected) G', which is negative: the future tells something.
        let (e, f) = (known.variance - expected.variance, known.covariance - expected.covariance);
        let g = known.skew_variance - expected.skew_variance;
        let gained =
            |one: (f64, f64), other: (f64, f64)| one.0 * (e * other.0 + f * other.1) + one.1 * (f * other.0 + g * other.1);
        let (to_offset, to_skew) = ((offset_offset, offset_skew), (skew_offset, skew_skew));
        Self {
            offset_ns: self.offset_ns + offset_offset * offset + offset_skew * skew,
            skew_ppb: self.skew_ppb + skew_offset * offset + skew_skew * skew,
            variance: self.variance + gained(to_offset, to_offset),
            covariance: self.covariance + gained(to_offset, to_skew),
            skew_variance: self.skew_variance + gained(to_skew, to_skew),
        }
    }

    /// One standard deviation of the offset. Rounding may leave a variance below zero where there is next to none.
    pub(super) fn sigma_ns(&self) -> f64 {
        self.variance.max(0.0).sqrt()
    }
}
