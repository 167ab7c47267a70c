//! What people look for on the page of runs: all of it stands in the address, and can be written down as a command.
//!
//! Invariant: a field that cannot be read is refused with a word about it, not ignored; the list is then empty.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use ordo_engine::job_list::{JobFilter, JobQuery};
use ordo_engine::run_list::RunFilter;
use ordo_model::job::RunStatus;
use ordo_model::{JobId, Millis, Timestamp};

use crate::api::runs::search::PastMoment;
use crate::http::cookies::encode;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::moment::Times;
use crate::pages::layout::shell::queries;

/// The fields of the address, in its order.
const FIELDS: [&str; 10] =
    ["job", "status", "since", "until", "reason", "executor", "longer_than", "shorter_than", "view", "rows"];
/// Those that say how something is shown, not what.
const SHOWN_AS: [&str; 2] = ["view", "rows"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunSearch(BTreeMap<&'static str, String>);

/// The same, understood.
pub(crate) struct FoundSearch {
    pub(crate) filter: RunFilter,
    /// Label and id, where it is about one job.
    pub(crate) job: Option<(String, JobId)>,
}

impl RunSearch {
    pub(crate) fn read(params: &mut Params) -> RunSearch {
        let field = |name| params.take_text(name).map(|text| (name, text.trim().to_owned()));
        RunSearch(FIELDS.into_iter().filter_map(field).filter(|(_, text)| !text.is_empty()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The same with other values; an empty one takes the field away.
    pub(crate) fn with(&self, changes: &[(&'static str, &str)]) -> RunSearch {
        let mut search = self.clone();
        for (name, value) in changes {
            match value.is_empty() {
                true => search.0.remove(name),
                false => search.0.insert(name, (*value).to_owned()),
            };
        }
        search
    }

    /// Where it is found, below the base path.
    pub(crate) fn address(&self) -> String {
        let given = FIELDS.into_iter().filter_map(|name| self.0.get_key_value(name));
        let pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", encode(value))).collect();
        if pairs.is_empty() { "/runs".to_owned() } else { format!("/runs?{}", pairs.join("&")) }
    }

    /// Whether anything but how it is shown is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.keys().all(|name| SHOWN_AS.contains(name))
    }

    /// Whether one of the fields is used that stand folded away.
    pub(crate) fn uses_more(&self) -> bool {
        ["until", "reason", "executor", "longer_than", "shorter_than"].iter().any(|name| self.0.contains_key(name))
    }

    /// The outer result is that of the store, the inner one a word about a field.
    pub(crate) async fn understood(&self, ctx: &PageContext) -> Result<Result<FoundSearch, String>, Problem> {
        let filter = match self.filter(&ctx.times()) {
            Ok(filter) => filter,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let given = self.get("job");
        if given.is_empty() {
            return Ok(Ok(FoundSearch { filter, job: None }));
        }
        let found = match given.parse::<JobId>() {
            Ok(id) => ctx.app.engine.job(id).await?.map(|job| (job.definition.label.clone(), id)),
            Err(_) => labelled(ctx, given).await?,
        };
        let job_id = found.as_ref().map(|(_, id)| *id).or_else(|| given.parse().ok());
        let filter = match job_id {
            Some(_) => RunFilter { job_id, ..filter },
            None => RunFilter { label: Some(given.to_owned()), ..filter },
        };
        Ok(Ok(FoundSearch { filter, job: found }))
    }

    fn filter(&self, times: &Times) -> Result<RunFilter, String> {
        let status = self.get("status");
        let code = RunStatus::code_of(status);
        if code.is_none() && !status.is_empty() {
            return Err(format!("status: must be one of {}", RunStatus::NAMES.join(", ")));
        }
        let text = |name: &str| Some(self.get(name).to_owned()).filter(|text| !text.is_empty());
        let filter = RunFilter {
            job_id: None,
            status: code,
            since: self.moment("since", times)?,
            until: self.moment("until", times)?,
            label: None,
            reason: text("reason"),
            executor: text("executor"),
            longer_than: self.length("longer_than", "longer than")?,
            shorter_than: self.length("shorter_than", "shorter than")?,
            now: Some(times.now),
        };
        match (filter.since, filter.until) {
            (Some(since), Some(until)) if since >= until => Err("since: must be before until".to_owned()),
            _ => Ok(filter),
        }
    }

    /// A moment as the API takes it, or one of the viewer's zone as a browser writes it.
    fn moment(&self, name: &str, times: &Times) -> Result<Option<Timestamp>, String> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        if let Ok(moment) = text.parse::<PastMoment>() {
            return Ok(Some(moment.at(times.now)));
        }
        let local = text.parse::<DateTime>().ok().and_then(|wall| times.of_wall(wall));
        local
            .map(Some)
            .ok_or_else(|| format!("{name}: must be a time, such as 2026-11-15 22:00, or a duration, such as 2h"))
    }

    fn length(&self, name: &str, words: &str) -> Result<Option<Millis>, String> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| format!("{words}: must be a duration, such as 10s or 5m")),
        }
    }

    /// The same as a command. `found`: a job is named as it was found.
    pub(crate) fn cli(&self, found: Option<&FoundSearch>) -> String {
        let mut words = vec!["ordo run list".to_owned()];
        for (name, value) in self.options(found) {
            let flag = if name == "job_id" { "job" } else { name };
            words.push(format!("--{} {}", flag.replace('_', "-"), quoted(&value)));
        }
        words.join(" ")
    }

    /// The same as a request. `server`: where this page was asked for.
    pub(crate) fn curl(&self, found: Option<&FoundSearch>, server: &str) -> String {
        let pairs = self.options(found).into_iter().map(|(name, value)| format!("{name}={}", encode(&value)));
        let query = pairs.collect::<Vec<String>>().join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        format!("curl -H \"Authorization: Bearer $ORDO_TOKEN\" '{server}/v1/runs{mark}{query}'")
    }

    /// Fields as the API names them; moments that only a browser writes are given as instants.
    fn options(&self, found: Option<&FoundSearch>) -> Vec<(&'static str, String)> {
        let option = |(name, value): (&&'static str, &String)| match *name {
            "job" => Some(match found.map(|found| (found.filter.job_id, &found.filter.label)) {
                Some((Some(id), _)) => ("job_id", id.to_string()),
                _ => ("label", value.clone()),
            }),
            "since" | "until" if value.parse::<PastMoment>().is_err() => {
                let filter = found.map(|found| &found.filter);
                let at = filter.and_then(|filter| if *name == "since" { filter.since } else { filter.until });
                at.map(|at| (*name, at.to_string()))
            }
            name if SHOWN_AS.contains(&name) => None,
            name => Some((name, value.clone())),
        };
        FIELDS.iter().filter_map(|name| self.0.get_key_value(name)).filter_map(option).collect()
    }
}

/// The job with exactly this label, if it is the only one.
async fn labelled(ctx: &PageContext, label: &str) -> Result<Option<(String, JobId)>, Problem> {
    let filter = JobFilter { label: Some(label.to_owned()), ..JobFilter::default() };
    let page = queries(ctx).jobs(&JobQuery { filter, limit: 2, ..JobQuery::default() }).await?;
    Ok(match page.items.as_slice() {
        [job] => Some((job.definition.label.clone(), job.id)),
        _ => None,
    })
}

/// As a shell reads it back.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(fields: &[(&'static str, &str)]) -> RunSearch {
        RunSearch::default().with(fields)
    }

    fn times() -> Times {
        Times::new("2026-11-15T21:41:05Z".parse().unwrap(), "Europe/Berlin", false)
    }

    #[test]
    fn what_is_looked_for_stands_in_the_address_and_can_be_typed() {
        let search =
            search(&[("status", "failed"), ("reason", "can't connect"), ("since", "24h"), ("view", "timeline")]);
        assert_eq!(search.address(), "/runs?status=failed&since=24h&reason=can%27t%20connect&view=timeline");
        assert_eq!(search.cli(None), r"ordo run list --status failed --since 24h --reason 'can'\''t connect'");
        assert!(
            search.curl(None, "http://host").ends_with("/v1/runs?status=failed&since=24h&reason=can%27t%20connect'")
        );
        assert_eq!(search.with(&[("status", ""), ("reason", ""), ("since", "")]).address(), "/runs?view=timeline");
        assert!(RunSearch::default().is_empty() && !search.is_empty());
    }

    #[test]
    fn a_time_without_a_zone_is_one_of_the_viewers() {
        let filter = search(&[("since", "2026-11-15T22:00"), ("until", "30m")]).filter(&times()).unwrap();
        assert_eq!(filter.since.unwrap().to_string(), "2026-11-15T21:00:00.000Z");
        assert_eq!(filter.until.unwrap().to_string(), "2026-11-15T21:11:05.000Z");
    }

    #[test]
    fn a_field_that_cannot_be_read_is_named() {
        for (fields, word) in [
            (vec![("status", "asleep")], "status: must be one of"),
            (vec![("since", "yesterday")], "since: must be a time"),
            (vec![("longer_than", "much")], "longer than: must be a duration"),
            (vec![("since", "1h"), ("until", "2h")], "must be before until"),
        ] {
            assert!(search(&fields).filter(&times()).unwrap_err().contains(word), "{fields:?}");
        }
    }
}
