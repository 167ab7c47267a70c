//! Sets of numbers as the fields of a cron expression name them, searched towards the future or the past.
//!
//! Invariant: both directions are one search, so they cannot disagree about what is in a set.

use super::field::Steps;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::schedule) enum Toward {
    Future,
    Past,
}

/// Numbers from 0 to 63: every field but the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::schedule) struct Values(u64);

impl Values {
    const LARGEST: u16 = 63;

    pub(super) fn add(&mut self, value: u16) {
        debug_assert!(value <= Values::LARGEST);
        self.0 |= 1 << value.min(Values::LARGEST);
    }

    pub(in crate::schedule) fn contains(self, value: u16) -> bool {
        value <= Values::LARGEST && self.0 & (1 << value) != 0
    }

    pub(in crate::schedule) fn to_vec(self) -> Vec<u16> {
        (0..=Values::LARGEST).filter(|value| self.contains(*value)).collect()
    }

    /// The member nearest to `value`, which may be `value` itself.
    pub(super) fn nearest(self, value: u16, toward: Toward) -> Option<u16> {
        let value = u32::from(value);
        let found = match toward {
            Toward::Future => {
                let rest = self.0 & u64::MAX.checked_shl(value)?;
                (rest != 0).then(|| rest.trailing_zeros())
            }
            Toward::Past => {
                let rest = self.0 & (u64::MAX >> 63_u32.saturating_sub(value));
                (rest != 0).then(|| 63 - rest.leading_zeros())
            }
        };
        found.and_then(|found| u16::try_from(found).ok())
    }

    /// The nearest member that is not `value`.
    pub(super) fn beyond(self, value: u16, toward: Toward) -> Option<u16> {
        match toward {
            Toward::Future => self.nearest(value + 1, toward),
            Toward::Past => self.nearest(value.checked_sub(1)?, toward),
        }
    }

    /// The member a search in this direction meets first.
    pub(super) fn outermost(self, toward: Toward) -> Option<u16> {
        match toward {
            Toward::Future => self.nearest(0, toward),
            Toward::Past => self.nearest(Values::LARGEST, toward),
        }
    }
}

impl FromIterator<u16> for Values {
    fn from_iter<I: IntoIterator<Item = u16>>(values: I) -> Values {
        let mut set = Values::default();
        values.into_iter().for_each(|value| set.add(value));
        set
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::schedule) enum Years {
    Every,
    Of(Vec<Steps>),
}

impl Years {
    pub(super) fn contains(&self, year: i16) -> bool {
        self.nearest(year, Toward::Future) == Some(year)
    }

    pub(super) fn nearest(&self, year: i16, toward: Toward) -> Option<i16> {
        match self {
            Years::Every => Some(year),
            Years::Of(parts) => {
                let found = parts.iter().filter_map(|steps| nearest_step(steps, i32::from(year), toward));
                let found = match toward {
                    Toward::Future => found.min(),
                    Toward::Past => found.max(),
                };
                found.and_then(|year| i16::try_from(year).ok())
            }
        }
    }

    pub(super) fn beyond(&self, year: i16, toward: Toward) -> Option<i16> {
        match toward {
            Toward::Future => self.nearest(year.checked_add(1)?, toward),
            Toward::Past => self.nearest(year.checked_sub(1)?, toward),
        }
    }

    /// None: every year.
    pub(in crate::schedule) fn named(&self) -> Option<Vec<u16>> {
        match self {
            Years::Every => None,
            Years::Of(parts) => {
                let mut years: Vec<u16> = parts.iter().flat_map(Steps::values).collect();
                years.sort_unstable();
                years.dedup();
                Some(years)
            }
        }
    }
}

fn nearest_step(steps: &Steps, year: i32, toward: Toward) -> Option<i32> {
    let [first, last, step] = [steps.first, steps.last, steps.step].map(i32::from);
    let found = match toward {
        Toward::Future => first + (year - first).max(0).div_euclid(step) * step,
        Toward::Past => first + (year.min(last) - first).div_euclid(step) * step,
    };
    let found = if toward == Toward::Future && found < year { found + step } else { found };
    (first..=last).contains(&found).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_member_is_found_in_both_directions() {
        let set: Values = [0, 5, 59, 63].into_iter().collect();
        let of = |value, toward| (set.nearest(value, toward), set.beyond(value, toward));
        assert_eq!(of(0, Toward::Future), (Some(0), Some(5)));
        assert_eq!(of(6, Toward::Future), (Some(59), Some(59)));
        assert_eq!(of(63, Toward::Future), (Some(63), None));
        assert_eq!(of(63, Toward::Past), (Some(63), Some(59)));
        assert_eq!(of(4, Toward::Past), (Some(0), Some(0)));
        assert_eq!(of(0, Toward::Past), (Some(0), None));
        assert_eq!([Toward::Future, Toward::Past].map(|toward| set.outermost(toward)), [Some(0), Some(63)]);
        assert_eq!(Values::default().outermost(Toward::Future), None);
    }

    #[test]
    fn years_are_found_without_stepping_through_them() {
        let years =
            Years::Of(vec![Steps { first: 1970, last: 9999, step: 7 }, Steps { first: 2030, last: 2030, step: 1 }]);
        assert_eq!(years.nearest(1000, Toward::Future), Some(1970));
        assert_eq!(years.nearest(1971, Toward::Future), Some(1977));
        assert_eq!(years.nearest(2028, Toward::Future), Some(2030));
        assert_eq!(years.nearest(2032, Toward::Past), Some(2030));
        assert_eq!(years.nearest(1969, Toward::Past), None);
        assert_eq!([9_998, 9_999].map(|year| years.nearest(year, Toward::Past)), [Some(9_992), Some(9_999)]);
        assert!(years.contains(1977) && !years.contains(1978));
    }
}
