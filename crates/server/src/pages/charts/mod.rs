//! Pictures, drawn here as SVG. Each is a pure function of what it shows.
//!
//! Invariant: an outcome has a shape as well as a colour; a picture has words beside it that say the same.

pub(crate) mod around;
pub(crate) mod day;
pub(crate) mod gantt;
pub(crate) mod heartbeat;
pub(crate) mod heat;
pub(crate) mod histogram;
pub(crate) mod minutes;
pub(crate) mod ring;
pub(crate) mod scatter;

/// The value that `percent` of the sorted values do not exceed.
pub(crate) fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let place = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(place - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&[7], 99), Some(7));
        let ten: Vec<i64> = (1..=10).collect();
        assert_eq!((percentile(&ten, 50), percentile(&ten, 95), percentile(&ten, 0)), (Some(5), Some(10), Some(1)));
    }
}
