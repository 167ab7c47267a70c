//! A batch taken apart in one pass over its text: where each job begins and ends.
//!
//! Invariant: jobs stay as they were written. Each is read by itself, so that one that is wrong says so in its own result, and
//! so that a large batch is never in memory twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Default)]
pub(super) struct BatchText<'b> {
    pub(super) jobs: Option<JobTexts<'b>>,
    /// A field that is not known, or the jobs once more.
    pub(super) unwanted: Option<String>,
}

pub(super) enum JobTexts<'b> {
    List(Vec<&'b RawValue>),
    NoList,
}

impl<'de> Deserialize<'de> for BatchText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BatchText<'de>, D::Error> {
        deserializer.deserialize_map(BatchFields)
    }
}

impl<'de> Deserialize<'de> for JobTexts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JobTexts<'de>, D::Error> {
        deserializer.deserialize_any(JobList)
    }
}

struct BatchFields;

impl<'de> Visitor<'de> for BatchFields {
    type Value = BatchText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<BatchText<'de>, A::Error> {
        let mut text = BatchText::default();
        while let Some(name) = fields.next_key::<String>()? {
            if name == "jobs" && text.jobs.is_none() {
                text.jobs = Some(fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
                text.unwanted.get_or_insert(name);
            }
        }
        Ok(text)
    }
}

struct JobList;

impl<'de> Visitor<'de> for JobList {
    type Value = JobTexts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JobTexts<'de>, A::Error> {
        let mut jobs = Vec::new();
        while let Some(job) = items.next_element()? {
            jobs.push(job);
        }
        Ok(JobTexts::List(jobs))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<JobTexts<'de>, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JobTexts::NoList)
    }

    fn visit_unit<E>(self) -> Result<JobTexts<'de>, E> {
        Ok(JobTexts::NoList)
    }

    fn visit_bool<E>(self, _: bool) -> Result<JobTexts<'de>, E> {
        Ok(JobTexts::NoList)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JobTexts<'de>, E> {
        Ok(JobTexts::NoList)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JobTexts<'de>, E> {
        Ok(JobTexts::NoList)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JobTexts<'de>, E> {
        Ok(JobTexts::NoList)
    }

    fn visit_str<E>(self, _: &str) -> Result<JobTexts<'de>, E> {
        Ok(JobTexts::NoList)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Vec<&str>>, Option<String>) {
        let BatchText { jobs, unwanted } = serde_json::from_str(text).unwrap();
        let texts = jobs.and_then(|jobs| match jobs {
            JobTexts::List(jobs) => Some(jobs.into_iter().map(RawValue::get).collect()),
            JobTexts::NoList => None,
        });
        (texts, unwanted)
    }

    #[test]
    fn jobs_stay_as_they_were_written() {
        assert_eq!(
            read(r#"{"jobs": [{"a": [1,  2]}, 7, "x"] }"#),
            (Some(vec![r#"{"a": [1,  2]}"#, "7", r#""x""#]), None)
        );
        assert_eq!(read("{}"), (None, None));
    }

    #[test]
    fn what_does_not_belong_there_is_named() {
        assert_eq!(read(r#"{"more": {"a": 1}, "jobs": []}"#), (Some(vec![]), Some("more".to_owned())));
        assert_eq!(read(r#"{"jobs": [1], "jobs": [2]}"#), (Some(vec!["1"]), Some("jobs".to_owned())));
        for other in ["null", "true", "-1", "1", "0.5", r#""x""#, r#"{"a": [1]}"#] {
            assert_eq!(read(&format!(r#"{{"jobs": {other}}}"#)), (None, None), "{other}");
        }
        assert!(serde_json::from_str::<BatchText<'_>>("[]").is_err());
    }
}
