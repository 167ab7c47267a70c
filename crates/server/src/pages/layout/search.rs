//! What people type to find jobs: `label:backup tag:nightly state:paused failed`.
//!
//! Invariant: a word that means nothing is a part of the label; a field with an impossible value is refused, not ignored.

use ordo_engine::job_list::JobFilter;
use ordo_model::job::{JobState, RunStatus, Trigger, check_tag};

/// The ends a run can have.
const ENDS: [&str; 4] = ["completed", "failed", "cancelled", "skipped"];

pub(crate) fn parse(text: &str) -> Result<JobFilter, String> {
    let mut filter = JobFilter::default();
    for word in text.split_whitespace() {
        match word.split_once(':') {
            Some((field, value)) => take(&mut filter, field, value)?,
            None => match end(word) {
                Some(end) => filter.last = Some(end),
                None => filter.label_parts.push(word.to_lowercase()),
            },
        }
    }
    Ok(filter)
}

fn take(filter: &mut JobFilter, field: &str, value: &str) -> Result<(), String> {
    match field {
        "label" => filter.label_parts.push(value.to_lowercase()),
        "tag" => {
            check_tag(value).map_err(|why| format!("tag: {why}"))?;
            filter.tags.push(value.to_owned());
        }
        "state" => filter.state = Some(known(JobState::named(value), field, &JobState::ALL.map(JobState::name))?),
        "last" => filter.last = Some(known(end(value), field, &ENDS)?),
        "trigger" => {
            let found = Trigger::NAMES.into_iter().find(|name| *name == value);
            filter.trigger = Some(known(found, field, &Trigger::NAMES)?);
        }
        "tool" => filter.tool = Some(value.to_owned()),
        "group" => filter.group = Some(value.to_owned()),
        _ => {
            return Err(format!("{field}: is not a field; there are label, tag, state, last, tool, group and trigger"));
        }
    }
    Ok(())
}

fn known<T>(found: Option<T>, field: &str, names: &[&str]) -> Result<T, String> {
    found.ok_or_else(|| format!("{field}: must be one of {}", names.join(", ")))
}

fn end(word: &str) -> Option<&'static str> {
    ENDS.into_iter().find(|end| *end == word).filter(|end| RunStatus::code_of(end).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_words_and_outcomes_narrow_together() {
        let query = parse("label:Backup state:paused tool:http failed night").unwrap();
        assert_eq!(query.label_parts, ["backup", "night"]);
        assert_eq!((query.state, query.tool.as_deref()), (Some(JobState::Paused), Some("http")));
        assert_eq!(query.last, Some("failed"));
        assert_eq!(parse("tag:team:billing tag:nightly").unwrap().tags, ["team:billing", "nightly"]);
        assert!(parse("  ").unwrap().is_empty());
    }

    /// What would be typed to ask for the same.
    fn typed(filter: &JobFilter) -> String {
        let labels = filter.label_parts.iter().map(|part| format!("label:{part}"));
        let tags = filter.tags.iter().map(|tag| format!("tag:{tag}"));
        let state = filter.state.map(|state| format!("state:{}", state.name()));
        let named = [("last", filter.last), ("trigger", filter.trigger)];
        let free = [("tool", filter.tool.as_deref()), ("group", filter.group.as_deref())];
        let fields = named.into_iter().chain(free).filter_map(|(field, value)| Some(format!("{field}:{}", value?)));
        labels.chain(tags).chain(state).chain(fields).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn fuzz_job_search() {
        ordo_fuzz::fuzz_text("job_search", include_str!("../../../tests/corpus/job_search.txt"), |text| {
            match parse(text) {
                Ok(filter) => {
                    assert_eq!(filter.is_empty(), text.trim().is_empty(), "{text:?} finds {filter:?}");
                    assert_eq!(parse(&typed(&filter)), Ok(filter), "{text:?} reads otherwise when it is typed again");
                }
                Err(why) => assert!(text.contains(':') && why.contains(": "), "{text:?} is refused with {why:?}"),
            }
        });
    }

    #[test]
    fn what_is_impossible_is_refused_with_what_is_possible() {
        assert!(parse("state:asleep").unwrap_err().contains("active, paused"));
        assert!(parse("tag:Nightly").unwrap_err().contains("tag: \"Nightly\" is no tag"));
        assert!(parse("colour:red").unwrap_err().contains("there are label"));
    }
}
