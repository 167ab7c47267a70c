//! Which runs are asked for: the parameters of the list, and moments as people give them.

use std::str::FromStr;

use ordo_api::Code;
use ordo_engine::run_list::RunFilter;
use ordo_model::job::RunStatus;
use ordo_model::{JobId, Millis, Timestamp};

use crate::http::params::Params;
use crate::http::problem::Problem;

/// A moment, or how long ago it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PastMoment {
    At(Timestamp),
    Ago(Millis),
}

impl FromStr for PastMoment {
    type Err = String;

    fn from_str(text: &str) -> Result<PastMoment, String> {
        let ago =
            || text.parse().map(PastMoment::Ago).map_err(|_| "must be a time or a duration, such as 1h".to_owned());
        text.parse().map(PastMoment::At).or_else(|_| ago())
    }
}

impl PastMoment {
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            PastMoment::At(at) => at,
            PastMoment::Ago(length) => now.minus(length),
        }
    }
}

/// Takes everything that a list of runs is searched by.
pub(crate) fn take_filter(params: &mut Params, now: Timestamp) -> Result<RunFilter, Problem> {
    let moment = |given: Option<PastMoment>| given.map(|moment| moment.at(now));
    Ok(RunFilter {
        job_id: params.take::<JobId>("job_id")?,
        status: take_status(params)?,
        since: moment(params.take("since")?),
        until: moment(params.take("until")?),
        label: params.take_text("label").filter(|text| !text.is_empty()),
        reason: params.take_text("reason").filter(|text| !text.is_empty()),
        executor: params.take_text("executor").filter(|text| !text.is_empty()),
        longer_than: params.take::<Millis>("longer_than")?,
        shorter_than: params.take::<Millis>("shorter_than")?,
        now: Some(now),
    })
}

fn take_status(params: &mut Params) -> Result<Option<u8>, Problem> {
    let Some(given) = params.take_text("status") else { return Ok(None) };
    let unknown =
        || Problem::field(Code::InvalidQuery, "status", format!("must be one of {}", RunStatus::NAMES.join(", ")));
    RunStatus::code_of(&given).map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use axum::http::Uri;

    use super::*;

    #[test]
    fn fuzz_run_search() {
        let now = Timestamp::from_ms(1_792_800_000_000).unwrap();
        ordo_fuzz::fuzz_text("run_search", include_str!("../../../tests/corpus/run_search.txt"), |text| {
            let Ok(uri) = format!("/v1/runs?{text}").parse::<Uri>() else { return };
            let Ok(mut params) = Params::of(&uri) else { return };
            let Ok(filter) = take_filter(&mut params, now) else { return };
            assert!(
                filter.status.is_none_or(|code| usize::from(code) < RunStatus::NAMES.len()),
                "{text:?}: {filter:?}"
            );
            let texts = [&filter.label, &filter.reason, &filter.executor];
            assert!(texts.into_iter().flatten().all(|text| !text.is_empty()), "{text:?}: {filter:?}");
            drop((params.take_limit(), params.take_cursor::<crate::http::params::Cursor>(), params.finish()));
        });
    }
}
