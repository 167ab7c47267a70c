//! What happened to a job, in words.

use ordo_model::job::{Notice, SkipReason, Timeliness};
use ordo_model::notification::JobSubject;
use ordo_model::schedule::Gap;
use ordo_model::{Millis, Timestamp};

use super::{Mood, Phrase, Topic, Words};

pub(super) fn words(job: &JobSubject, notice: &Notice, at: Timestamp) -> Words {
    let run = ("Run", notice.run_id().to_string());
    let about_job = |happening: String, mood: Mood| Words {
        topic: Topic::Job(job.label.clone()),
        happening: Phrase::text(happening),
        quote: None,
        facts: vec![run.clone()],
        mood,
    };
    match notice {
        Notice::Failed { reason, failures_in_row, .. } => {
            Words { quote: Some(reason.clone()), ..about_job(failed(*failures_in_row), Mood::Bad) }
        }
        Notice::Recovered { failures, missed, .. } => about_job(recovered(*failures, *missed), Mood::Good),
        Notice::Late { due_at, timeliness, .. } => {
            about_job(late(*timeliness, at.since(*due_at)), Mood::Worrying).with("Due", moment(*due_at))
        }
        Notice::Skipped { reason, gap, .. } => skipped(about_job, *reason, *gap),
        Notice::Overran { started_at, .. } => {
            let since = rough(at.since(*started_at));
            about_job(format!("runs longer than its interval: for {since} by now"), Mood::Worrying)
                .with("Running since", moment(*started_at))
        }
        Notice::Ended { status, .. } => about_job(format!("has ended: {status}"), Mood::Neutral),
    }
}

impl Words {
    fn with(mut self, name: &'static str, fact: String) -> Words {
        self.facts.insert(0, (name, fact));
        self
    }
}

fn failed(in_row: u32) -> String {
    match in_row {
        0 | 1 => "failed".to_owned(),
        2 => "failed again, twice in a row now".to_owned(),
        many => format!("failed again, {many} times in a row now"),
    }
}

fn recovered(failures: u32, missed: u32) -> String {
    let failures = counted(u64::from(failures), "failure", "failures");
    let missed = counted(u64::from(missed), "missed occurrence", "missed occurrences");
    let all: Vec<String> = failures.into_iter().chain(missed).collect();
    if all.is_empty() { "works again".to_owned() } else { format!("works again after {}", all.join(" and ")) }
}

fn late(timeliness: Timeliness, by: Millis) -> String {
    let by = rough(by);
    match timeliness {
        Timeliness::OnTime => "was fired in time".to_owned(),
        Timeliness::Late => format!("was fired {by} late"),
        Timeliness::Misfire => format!("missed its time and was fired {by} late"),
    }
}

fn skipped(about_job: impl Fn(String, Mood) -> Words, reason: SkipReason, gap: Option<Gap>) -> Words {
    let why = match reason {
        SkipReason::Misfire => "it was too late, and its misfire policy is to do nothing",
        SkipReason::CatchUpLimit => "more occurrences were due at once than are caught up with",
        SkipReason::Paused => "it is paused",
        SkipReason::Overlap => "an earlier run was not over",
        SkipReason::QueueFull => "too many of its runs are waiting already",
        SkipReason::Changed => "its trigger was changed before",
        SkipReason::Expired => "no executor took it in the time it was given",
        SkipReason::Held => "it is held and was not released yet",
    };
    match gap.filter(|gap| gap.count > 1) {
        None => about_job(format!("did not run: {why}"), Mood::Bad),
        Some(gap) => {
            let least = if gap.exact { "" } else { "at least " };
            about_job(format!("did not run {least}{} times: {why}", gap.count), Mood::Bad)
                .with("To", moment(gap.to))
                .with("From", moment(gap.from))
        }
    }
}

fn counted(count: u64, one: &str, many: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("one {one}")),
        count => Some(format!("{count} {many}")),
    }
}

/// `2026-11-15 19:20:05 UTC`
pub(super) fn moment(at: Timestamp) -> String {
    at.to_jiff().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The two largest units, as people say it: `2d 3h`, `1h 5m`, `12s`, `350ms`.
pub(super) fn rough(length: Millis) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let Some(place) = UNITS.iter().position(|(size, _)| length.ms() >= *size) else {
        return format!("{}ms", length.ms());
    };
    let (size, unit) = UNITS[place];
    let first = format!("{}{unit}", length.ms() / size);
    let rest = UNITS.get(place + 1).map(|(smaller, unit)| (length.ms() % size / smaller, unit));
    match rest {
        Some((count, unit)) if count > 0 => format!("{first} {count}{unit}"),
        Some(_) | None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_said_in_its_two_largest_units() {
        let said = |text: &str| rough(text.parse().unwrap());
        assert_eq!((said("350ms"), said("12s"), said("1m")), ("350ms".into(), "12s".into(), "1m".into()));
        assert_eq!((said("1h5m9s"), said("2d3h4m"), said("2d4m")), ("1h 5m".into(), "2d 3h".into(), "2d".into()));
    }
}
