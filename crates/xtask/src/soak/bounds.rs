//! The bounds: what may grow after the warm-up, and by how much.
//!
//! The first third is warm-up: caches fill, retention reaches its length. The second third says what is usual, the last
//! one is held to it.

use super::load::LoadDone;
use super::samples::ResourceSample;
use crate::lab::drawing::thousands;

const RSS_PERCENT: i64 = 110;
const RSS_SLACK_KIB: i64 = 8 * 1_024;
const DESCRIPTORS_SLACK: i64 = 16;
const THREADS_SLACK: i64 = 8;
const STORE_PERCENT: i64 = 110;
const STORE_SLACK_KIB: i64 = 16 * 1_024;
/// What is kept by design may take so much.
const KEPT_KIB: i64 = 12;
/// Half of the samples after the warm-up have to be better.
const LATENESS_P99_MS: i64 = 1_000;

type SampledValue = fn(&ResourceSample) -> i64;

pub(super) fn judge(samples: &[ResourceSample], done: &LoadDone) -> Vec<String> {
    let mut breaches: Vec<String> = done.refused.iter().take(10).map(|refused| format!("refused: {refused}")).collect();
    let Some((_, usual, last)) = thirds(samples) else {
        breaches.push(format!("{} samples are too few", samples.len()));
        return breaches;
    };
    let kept_kib = i64::try_from(done.kept()).unwrap_or(i64::MAX).saturating_mul(KEPT_KIB);
    let growth: [(&str, SampledValue, i64, i64); 4] = [
        ("RSS (KiB)", |sample| sample.rss_kib, RSS_PERCENT, RSS_SLACK_KIB),
        ("open descriptors", |sample| sample.descriptors, 100, DESCRIPTORS_SLACK),
        ("threads", |sample| sample.threads, 100, THREADS_SLACK),
        ("the store's files (KiB)", |sample| sample.store_kib, STORE_PERCENT, STORE_SLACK_KIB + kept_kib),
    ];
    for (name, value, percent, slack) in growth {
        let (before, now) = (median(usual, value), median(last, value));
        let bound = before * percent / 100 + slack;
        if now > bound {
            breaches.push(format!(
                "{name} grew from {} to {}, the bound is {}",
                thousands(before),
                thousands(now),
                thousands(bound)
            ));
        }
    }
    let lateness = median(last, |sample| sample.lateness_p99_ms.unwrap_or(0));
    if lateness > LATENESS_P99_MS {
        breaches.push(format!(
            "half of the time 99 of 100 runs were up to {} ms late, {LATENESS_P99_MS} are allowed",
            thousands(lateness)
        ));
    }
    if last.iter().all(|sample| sample.runs == 0) {
        breaches.push("nothing ran in the last third".to_owned());
    }
    breaches
}

/// Warm-up, what is usual, and what is held to it.
fn thirds(samples: &[ResourceSample]) -> Option<(&[ResourceSample], &[ResourceSample], &[ResourceSample])> {
    let third = samples.len() / 3;
    (third >= 3).then(|| (&samples[..third], &samples[third..2 * third], &samples[2 * third..]))
}

fn median(samples: &[ResourceSample], value: SampledValue) -> i64 {
    let mut values: Vec<i64> = samples.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

pub(super) fn summary(samples: &[ResourceSample]) -> String {
    let Some((warm_up, usual, last)) = thirds(samples) else { return String::new() };
    let line = |name: &str, value: SampledValue| {
        let [first, second, third] = [warm_up, usual, last].map(|part| thousands(median(part, value)));
        format!("  {name:<24}{first:>14}{second:>14}{third:>14}")
    };
    [
        format!("  {:<24}{:>14}{:>14}{:>14}", "median of", "warm-up", "second third", "last third"),
        line("RSS, KiB", |sample| sample.rss_kib),
        line("open descriptors", |sample| sample.descriptors),
        line("threads", |sample| sample.threads),
        line("store, KiB", |sample| sample.store_kib),
        line("folder, KiB", |sample| sample.folder_kib),
        line("p99 late, ms", |sample| sample.lateness_p99_ms.unwrap_or(0)),
        line("runs per sample", |sample| sample.runs),
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rss: fn(i64) -> i64, descriptors: fn(i64) -> i64) -> Vec<ResourceSample> {
        let sample = |at: i64| ResourceSample {
            at: at * 1_000,
            rss_kib: rss(at),
            descriptors: descriptors(at),
            threads: 20,
            store_kib: 50_000,
            folder_kib: 60_000,
            lateness_p99_ms: Some(10),
            runs: 40,
        };
        (0..30).map(sample).collect()
    }

    #[test]
    fn what_grows_only_while_it_warms_up_passes() {
        let steady = samples(|at| 60_000 + at.min(10) * 5_000, |_| 40);
        assert_eq!(judge(&steady, &LoadDone::default()), Vec::<String>::new());
    }

    #[test]
    fn a_leak_of_memory_or_descriptors_is_found() {
        let leak = samples(|at| 60_000 + at * 5_000, |at| 40 + 4 * at);
        let breaches = judge(&leak, &LoadDone::default());
        assert!(
            breaches.len() == 2 && breaches[0].contains("RSS") && breaches[1].contains("descriptors"),
            "{breaches:?}"
        );
    }

    #[test]
    fn what_is_kept_by_design_is_allowed_to_be_there() {
        let mut grown = samples(|_| 60_000, |_| 40);
        grown.iter_mut().skip(20).for_each(|sample| sample.store_kib = 90_000);
        assert_eq!(judge(&grown, &LoadDone::default()).len(), 1);
        assert!(judge(&grown, &LoadDone { deliveries: 3_000, ..LoadDone::default() }).is_empty());
    }

    #[test]
    fn refusals_lateness_and_silence_are_named() {
        let mut late = samples(|_| 60_000, |_| 40);
        late.iter_mut().for_each(|sample| (sample.lateness_p99_ms, sample.runs) = (Some(2_500), 0));
        let breaches = judge(&late, &LoadDone { refused: vec!["GET /: 500".to_owned()], ..LoadDone::default() });
        assert_eq!(breaches.len(), 3, "{breaches:?}");
    }
}
