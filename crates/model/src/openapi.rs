//! The shapes of types that are written in a form of their own: what a derived schema cannot know.
//!
//! Invariant: each stands for the `Serialize` and `Deserialize` of its type; the tests of the API read and write
//! through both.

#![expect(dead_code, reason = "the forms are shapes only: nothing is ever made of them")]

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use utoipa::openapi::schema::{AnyOfBuilder, Discriminator, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::hook::Filter;
use crate::id::JobId;
use crate::incident::{Link, Severity};
use crate::job::{After, AfterMode, AfterOn, Block, KeySource, Misfire, Trigger};
use crate::schedule::{DatesExclusion, Dst, Exclusion, LocalDate, RangeExclusion, TimeOfDay, WeeklyExclusion};
use crate::subscription::EventPattern;
use crate::time::{Millis, Timestamp};
use crate::trace::TraceParent;

type NamedSchemas = Vec<(String, RefOr<Schema>)>;

/// A text of some form.
macro_rules! text {
    ($type:ty, $name:literal, $describe:expr) => {
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let describe: fn(ObjectBuilder) -> ObjectBuilder = $describe;
                describe(ObjectBuilder::new().schema_type(Type::String)).into()
            }
        }
        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    };
}

text!(Timestamp, "Time", |text| text
    .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
    .description(Some("RFC 3339; answered in UTC with milliseconds. From 1970 to 9999."))
    .examples([json!("2026-11-15T19:20:00.000Z")]));
text!(Millis, "Duration", |text| text
    .pattern(Some("^(([0-9]{1,9}(d|h|m|s|ms))+|P[0-9.DTHMS]+)$"))
    .description(Some("Answered in the shortest form: `1h30m`, `500ms`, `2d`. ISO 8601 is read too."))
    .examples([json!("1h30m"), json!("500ms"), json!("PT5M")]));
text!(KeySource, "KeySource", |text| text
    .pattern(Some("^(label|/.*)$"))
    .description(Some("`label`, or a JSON pointer into the input."))
    .examples([json!("label"), json!("/tenant")]));
text!(TimeOfDay, "TimeOfDay", |text| text
    .pattern(Some("^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9])?$"))
    .examples([json!("22:00")]));
text!(LocalDate, "LocalDate", |text| text.format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))));
text!(EventPattern, "Pattern", |text| text
    .min_length(Some(1))
    .max_length(Some(crate::limits::LABEL_MAX_BYTES))
    .description(Some("`*` stands for any number of characters."))
    .examples([json!("incident.*"), json!("job.failed")]));
text!(TraceParent, "TraceParent", |text| text.description(Some("A W3C trace context.")));
text!(Severity, "Severity", |text| text
    .enum_values(Some(Severity::ALL.map(Severity::name).into_iter().chain(["high", "medium", "low"])))
    .description(Some("sev1 is the worst. `high`, `medium` and `low` are read as sev2, sev3 and sev4.")));

/// One of several shapes, each a component of its own.
macro_rules! one_of {
    ($type:ty, $name:literal, $by:literal: $($tag:literal => $shape:ty),+) => {
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let reference = |name: &str| format!("#/components/schemas/{name}");
                let mapping = [$(($tag, reference(&<$shape>::name()))),+];
                let builder = OneOfBuilder::new()$(.item(Ref::new(reference(&<$shape>::name()))))+;
                builder.discriminator(Some(Discriminator::with_mapping($by, mapping))).into()
            }
        }
        one_of!(@named $type, $name, $($shape),+);
    };
    ($type:ty, $name:literal, $description:expr, $($shape:ty),+) => {
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let reference = |name: &str| Ref::new(format!("#/components/schemas/{name}"));
                let builder = AnyOfBuilder::new()$(.item(reference(&<$shape>::name())))+;
                builder.description(Some($description)).into()
            }
        }
        one_of!(@named $type, $name, $($shape),+);
    };
    (@named $type:ty, $name:literal, $($shape:ty),+) => {
        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
            fn schemas(schemas: &mut NamedSchemas) {
                $(schemas.push((<$shape>::name().into_owned(), <$shape>::schema()));
                <$shape>::schemas(schemas);)+
            }
        }
    };
}

one_of!(Trigger, "Trigger", "type": "scheduled" => ScheduledTrigger, "webhook" => WebhookTrigger, "manual" => ManualTrigger);
one_of!(Link, "IncidentLink", "type": "job" => JobLink, "run" => RunLink);
one_of!(Block, "Block", "What becomes of a trigger while an earlier run is not over.", BlockName, ConcurrentBlock);
one_of!(Misfire, "Misfire", "What becomes of occurrences that are late.", MisfireName, FireAllMisfire);
one_of!(
    Exclusion,
    "Exclusion",
    "A range of time, a window of the week, or whole days.",
    RangeExclusion,
    WeeklyExclusion,
    DatesExclusion
);
one_of!(
    After,
    "After",
    "Runs when other jobs have ended; the run's input gets what came of them as `after`.",
    JobId,
    AfterList,
    AfterJobs
);

/// By its schedule: exactly one of `at`, `every` and `cron`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ScheduledTrigger {
    #[schema(inline)]
    r#type: ScheduledTag,
    at: Option<Timestamp>,
    every: Option<Millis>,
    #[schema(examples("0 2 * * *"))]
    cron: Option<String>,
    /// Of the cron expression; UTC when left out.
    #[schema(examples("Europe/Berlin"))]
    timezone: Option<String>,
    dst: Option<Dst>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    jitter: Option<Millis>,
    #[serde(default)]
    exclude: Vec<Exclusion>,
}

/// When somebody calls a hook.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WebhookTrigger {
    #[schema(inline)]
    r#type: WebhookTag,
    /// The slug of the hook.
    hook: String,
}

/// Only when it is triggered.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ManualTrigger {
    #[schema(inline)]
    r#type: ManualTag,
}

/// One variant each: what distinguishes the shapes.
macro_rules! tags {
    ($($tag:ident $variant:ident)+) => {
        $(#[derive(Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        enum $tag { $variant })+
    };
}

tags!(ScheduledTag Scheduled WebhookTag Webhook ManualTag Manual JobTag Job RunTag Run);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct JobLink {
    #[schema(inline)]
    r#type: JobTag,
    id: JobId,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RunLink {
    #[schema(inline)]
    r#type: RunTag,
    id: crate::id::RunId,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum BlockName {
    Serial,
    Discard,
    Cover,
    Concurrent,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ConcurrentBlock {
    concurrent: Concurrency,
}

/// At most `max` runs side by side.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Concurrency {
    max: u32,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum MisfireName {
    FireOnceNow,
    DoNothing,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FireAllMisfire {
    fire_all: FireAll,
}

/// The newest `cap` of those inside `window`, each its own run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FireAll {
    #[serde(default)]
    cap: u32,
    #[serde(default)]
    window: Millis,
}

/// Several jobs, all of which must have succeeded.
#[derive(ToSchema)]
struct AfterList(Vec<JobId>);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AfterJobs {
    jobs: Vec<JobId>,
    mode: Option<AfterMode>,
    on: Option<AfterOn>,
}

/// What must be true of the payload, which must be JSON: one test on one place of it. What does not pass is recorded,
/// not run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Filter)]
struct FilterForm {
    /// A JSON pointer (RFC 6901).
    #[schema(pattern = "^(/.*)?$")]
    pointer: String,
    #[serde(default)]
    equals: serde_json::Value,
    #[serde(default)]
    not_equals: serde_json::Value,
    #[serde(default)]
    exists: bool,
    #[serde(default)]
    one_of: Vec<serde_json::Value>,
}

impl PartialSchema for Filter {
    fn schema() -> RefOr<Schema> {
        FilterForm::schema()
    }
}

impl ToSchema for Filter {}
