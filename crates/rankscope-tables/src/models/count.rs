//! Counts that either fit 64 bits or are none.

/// The product of `factors`.
pub(super) fn product(factors: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut product: u64 = 1;
    let mut is_zero = false;
    for factor in factors {
        if factor == 0 {
            is_zero = true;
        } else {
            product = product.checked_mul(factor)?;
        }
    }
    Some(if is_zero { 0 } else { product })
}

/// The sum of `terms`; none where one of them is.
pub(super) fn sum(terms: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    terms.into_iter().try_fold(0_u64, |sum, term| sum.checked_add(term?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_no_count() {
        assert_eq!(product([3, 4, 5]), Some(60));
        assert_eq!(product([]), Some(1));
        assert_eq!(product([u64::MAX, 2]), None);
        assert_eq!(sum([Some(1), Some(2)]), Some(3));
        assert_eq!(sum([Some(1), None]), None);
        assert_eq!(sum([Some(u64::MAX), Some(1)]), None);
    }
}
