//! What may be asked for, and what is said about the rest.

use crate::story::*;
use ordo_model::job::{Block, JobState, Misfire, Refusal};
use ordo_model::limits;
use serde_json::{Value, json};

#[test]
fn the_smallest_job_gets_every_default() {
    let job = given(json!({})).job;
    let definition = &job.definition;
    assert_eq!(definition.tool_input, json!({}));
    assert_eq!((definition.misfire, definition.block), (Misfire::FireOnceNow, Block::Serial));
    assert_eq!((definition.group.as_str(), definition.priority), ("default", 5));
    assert_eq!((definition.timeout, definition.retry.max_attempts), (ms("1h"), 1));
    assert_eq!((definition.retention.runs, definition.retention.age), (1_000, ms("30d")));
    assert!(!definition.idempotent);
}

#[test]
fn a_job_without_a_schedule_is_active_and_wants_no_alarm() {
    for trigger in [json!({"type": "manual"}), json!({"type": "webhook", "hook": "github"})] {
        let story = given(json!({"trigger": trigger}));
        assert_eq!(story.events(), ["JobScheduled"]);
        assert_eq!((story.state(), story.job.next_turn()), (JobState::Active, None));
    }
}

#[test]
fn an_interval_counts_from_the_creation_of_the_job() {
    assert_eq!(given(json!({"trigger": every("10s")})).job.next_turn(), Some(t("10s")));
}

#[test]
fn an_interval_with_a_start_long_ago_keeps_that_beat() {
    let trigger = json!({"type": "scheduled", "every": "7s", "start": noon().minus(ms("10s"))});
    assert_eq!(given(json!({"trigger": trigger})).job.next_turn(), Some(t("4s")));
}

#[test]
fn a_priority_ranks_the_job_among_others_of_the_same_moment() {
    assert_eq!(given(json!({"priority": 9})).job.rank(), 0);
    assert_eq!(given(json!({"priority": 0})).job.rank(), 9);
}

#[test]
fn an_empty_label_is_refused() {
    for label in ["", "   ", "\n"] {
        assert_says(refused(json!({"label": label})), &["label", "must not be empty"]);
    }
}

#[test]
fn a_label_of_a_megabyte_is_refused_without_being_repeated() {
    let said = refused(json!({"label": "x".repeat(1 << 20)}));
    assert_says(&said, &["label", "1048576 bytes", "at most 200"]);
    assert!(said.len() < 200, "{said}");
}

#[test]
fn a_label_may_be_exactly_as_long_as_its_limit() {
    given(json!({"label": "x".repeat(limits::LABEL_MAX_BYTES)}));
    assert_says(refused(json!({"label": "x".repeat(limits::LABEL_MAX_BYTES + 1)})), &["label"]);
}

#[test]
fn control_characters_are_refused() {
    assert_says(refused(json!({"label": "a\u{7}b"})), &["label", "control characters"]);
    assert_says(refused(json!({"tool_name": "a\u{0}b"})), &["tool_name", "control characters"]);
}

#[test]
fn texts_beside_the_label_have_limits_too() {
    for (fields, field) in [
        (json!({"tool_name": ""}), "tool_name"),
        (json!({"tool_name": "x".repeat(101)}), "tool_name"),
        (json!({"group": ""}), "group"),
        (json!({"description": "x".repeat(1_001)}), "description"),
        (json!({"trigger": {"type": "webhook", "hook": "x".repeat(101)}}), "trigger.hook"),
        (json!({"tool_input": {"text": "x".repeat(limits::TOOL_INPUT_MAX_BYTES)}}), "tool_input"),
        (json!({"tool_input": (0..limits::JSON_DEPTH_MAX).fold(json!([]), |inner, _| json!([inner]))}), "tool_input"),
    ] {
        assert_says(refused(fields), &[field]);
    }
}

#[test]
fn an_unknown_field_is_named() {
    for (fields, name) in [
        (json!({"colour": "red"}), "colour"),
        (json!({"retry": {"max_attempt": 3}}), "max_attempt"),
        (json!({"retention": {"days": 3}}), "days"),
        (json!({"trigger": {"type": "manual", "evry": "1s"}}), "evry"),
        (json!({"misfire": {"fire_all": {"windw": "1h"}}}), "windw"),
        (json!({"misfire": "sometimes"}), "sometimes"),
        (json!({"routing": "nearest"}), "nearest"),
        (json!({"block": "parallel"}), "parallel"),
    ] {
        assert_says(refused(fields), &[name]);
    }
}

#[test]
fn a_block_strategy_of_the_wrong_shape_is_refused_with_the_reason() {
    for (block, says) in [
        (json!({"concurrent": {"max": 4, "min": 1}}), "`min`"),
        (json!({"concurent": {"max": 4}}), "`concurent`"),
        (json!("paralell"), "serial, discard, cover, concurrent"),
        (json!(7), "a text or an object"),
    ] {
        assert_says(refused(json!({"block": block})), &[says]);
    }
}

#[test]
fn a_runbook_is_an_address_of_the_web() {
    for url in ["https://wiki.example.com/x#y", "http://w/"] {
        given(json!({"description_url": url}));
    }
    for url in ["", "wiki.example.com", "javascript:alert(1)", "https://", "https://a b", "ftp://x/y"] {
        assert_says(refused(json!({"description_url": url})), &["description_url"]);
    }
}

#[test]
fn tags_are_a_set_of_short_words() {
    let longest = "x".repeat(limits::TAG_MAX_BYTES);
    let job = given(json!({"tags": ["team:billing", "eu-1", "eu-1", "2026.q4", "a_b", longest]})).job;
    let tags: Vec<&str> = job.definition.tags.iter().map(String::as_str).collect();
    assert_eq!(tags, ["2026.q4", "a_b", "eu-1", "team:billing", longest.as_str()]);
    for tag in ["", "Billing", "two words", "-x", ":x", "grün", "a,b", "a/b", &"x".repeat(limits::TAG_MAX_BYTES + 1)] {
        assert_says(refused(json!({"tags": [tag]})), &["tags"]);
    }
    let said = refused(json!({"tags": ["y".repeat(1 << 20)]}));
    assert!(said.contains("at most 40") && said.len() < 200, "{said}");
}

#[test]
fn a_job_has_so_many_tags_and_no_more() {
    let tags = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
    given(json!({"tags": tags(limits::TAGS_MAX)}));
    assert_says(refused(json!({"tags": tags(limits::TAGS_MAX + 1)})), &["tags", "17", "at most 16"]);
}

#[test]
fn a_patch_replaces_the_tags_and_null_takes_them_away() {
    let definition = given(json!({"tags": ["a", "b"]})).job.definition;
    let patched =
        |patch: Value| definition.patched(patch.as_object().unwrap()).unwrap().tags.into_iter().collect::<Vec<_>>();
    assert_eq!(patched(json!({"tags": ["c"]})), ["c"]);
    assert_eq!(patched(json!({"priority": 9})), ["a", "b"]);
    assert_eq!(patched(json!({"tags": null})), Vec::<String>::new());
    assert_eq!(patched(json!({"tags": []})), Vec::<String>::new());
    let untagged = given(json!({})).job.definition;
    assert!(!untagged.json().contains("tags"), "a job without tags costs nothing more");
}

#[test]
fn what_was_written_ahead_is_the_definition_that_is_scheduled() {
    for trigger in [every("1h"), every_from_noon("1h"), cron("0 2 * * *"), at(t("1h")), json!({"type": "manual"})] {
        let asked = definition(json!({"trigger": trigger})).unwrap();
        asked.write_ahead();
        let scheduled = asked.prepared(noon()).unwrap();
        let anew: Value = serde_json::to_value(scheduled.clone()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(scheduled.json()).unwrap(), anew, "{trigger}");
    }
}

#[test]
fn an_input_is_held_to_its_limit_also_when_it_was_written_ahead() {
    let asked = definition(json!({"tool_input": {"text": "x".repeat(limits::TOOL_INPUT_MAX_BYTES)}})).unwrap();
    asked.write_ahead();
    assert_eq!(asked.prepared(noon()).unwrap_err().field, "tool_input");
}

#[test]
fn a_missing_field_is_named() {
    let read = |text: &str| serde_json::from_str::<ordo_model::job::Definition>(text).expect_err("it is refused");
    assert_says(read(r#"{"tool_name":"noop","trigger":{"type":"manual"}}"#), &["label"]);
    assert_says(read(r#"{"label":"a","trigger":{"type":"manual"}}"#), &["tool_name"]);
    assert_says(read(r#"{"label":"a","tool_name":"noop"}"#), &["trigger"]);
}

#[test]
fn policies_out_of_bounds_are_refused_with_the_bounds() {
    for (fields, words) in [
        (json!({"priority": 10}), ["priority", "0 and 9"]),
        (json!({"timeout": "0s"}), ["timeout", "366d"]),
        (json!({"timeout": "367d"}), ["timeout", "366d"]),
        (json!({"retry": {"max_attempts": 0}}), ["retry.max_attempts", "1 and 100"]),
        (json!({"retry": {"max_attempts": 101}}), ["retry.max_attempts", "1 and 100"]),
        (json!({"retry": {"backoff": "5s", "max_backoff": "1s"}}), ["retry.backoff", "max_backoff"]),
        (json!({"retry": {"max_backoff": "2h"}}), ["retry.backoff", "1h"]),
        (json!({"block": {"concurrent": {"max": 0}}}), ["block", "1 and 256"]),
        (json!({"block": {"concurrent": {"max": 257}}}), ["block", "1 and 256"]),
        (json!({"misfire": {"fire_all": {"cap": 0}}}), ["misfire", "1 and 100"]),
        (json!({"misfire": {"fire_all": {"cap": 101}}}), ["misfire", "1 and 100"]),
        (json!({"retention": {"runs": 0}}), ["retention.runs", "1 and 1000000"]),
        (json!({"retention": {"age": "1ms"}}), ["retention.age", "1s"]),
        (json!({"concurrency_key": {"key": "label", "max": 0}}), ["concurrency_key.max", "between 1 and"]),
        (json!({"rate_limit": {"key": "/tenant", "limit": 1, "per": "0s"}}), ["rate_limit.per", "between"]),
        (json!({"rate_limit": {"key": "tenant", "limit": 1, "per": "1s"}}), ["tenant", "JSON pointer"]),
        (json!({"unique_key": {"key": "label", "window": "0s"}}), ["unique_key.window", "between"]),
        (json!({"expire_after": "0s"}), ["expire_after", "between"]),
    ] {
        assert_says(refused(fields), &words);
    }
}

#[test]
fn an_impossible_cron_is_refused() {
    assert_says(refused(json!({"trigger": cron("0 0 31 2 *")})), &["trigger.cron", "never occurs"]);
    for nonsense in ["", "every day", "61 * * * *", "* * * *", "*/0 * * * *"] {
        assert_says(refused(json!({"trigger": cron(nonsense)})), &["trigger.cron"]);
    }
}

#[test]
fn an_unknown_zone_is_refused() {
    let trigger = json!({"type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berln"});
    assert_says(refused(json!({"trigger": trigger})), &["trigger.timezone", "Europe/Berln"]);
}

#[test]
fn an_interval_of_nothing_is_refused() {
    assert_says(refused(json!({"trigger": every("0s")})), &["trigger.every", "1ms"]);
    given(json!({"trigger": every("1ms")}));
}

#[test]
fn a_schedule_that_ended_is_refused() {
    let ends = |end: &str| json!({"type": "scheduled", "cron": "0 0 1 1 *", "end": end});
    assert_says(refused(json!({"trigger": ends("2026-11-15T12:00:00Z")})), &["trigger.end", "in the past"]);
    assert_says(refused(json!({"trigger": ends("2026-12-31T00:00:00Z")})), &["trigger", "no time to come"]);
}

#[test]
fn a_time_more_than_a_minute_past_is_refused() {
    let said = refused(json!({"trigger": at(noon().minus(ms("1m1ms")))}));
    assert_says(said, &["trigger.at", "2026-11-15T11:58:59.999Z", "more than 1m in the past", "a time to come"]);
}

#[test]
fn a_time_outside_1970_to_9999_is_refused() {
    for time in ["1969-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "tomorrow"] {
        let said = definition(json!({"trigger": {"type": "scheduled", "at": time}})).expect_err("it is refused");
        assert_says(said, &["time"]);
    }
}

#[test]
fn a_trigger_that_mixes_kinds_is_refused() {
    for (trigger, words) in [
        (json!({"type": "scheduled"}), "needs one of at, every or cron"),
        (json!({"type": "scheduled", "every": "1s", "cron": "* * * * *"}), "only one of"),
        (json!({"type": "scheduled", "every": "1s", "hook": "a"}), "no hook"),
        (json!({"type": "webhook", "hook": ""}), "slug"),
        (json!({"type": "telepathy"}), "telepathy"),
        (Value::Null, "trigger"),
    ] {
        assert!(refused(json!({"trigger": trigger.clone()})).contains(words) || trigger.is_null());
    }
}

#[test]
fn a_job_cannot_be_created_twice() {
    let again = schedule(definition(json!({})).expect("it reads"), false);
    assert_eq!(given(json!({})).refusal(again), Refusal::Exists);
}
