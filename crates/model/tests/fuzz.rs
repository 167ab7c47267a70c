//! Whatever others write down is read or refused: made-up texts never break a reader, and what is read is sound.

use ordo_fuzz::fuzz_text;
use ordo_model::hook::{Filter, Headers, Scheme, Test, delivery_id, replay_mark, verify};
use ordo_model::job::Definition;
use ordo_model::schedule::Schedule;
use ordo_model::{Millis, Timestamp};
use serde_json::json;
use uuid::Uuid;

fn definition(trigger: &serde_json::Value) -> Option<Definition> {
    let form = json!({ "label": "x", "tool_name": "noop", "trigger": trigger });
    serde_json::from_value(form).ok()
}

/// Occurrences go forward, and none is before the moment that was asked for.
fn assert_goes_forward(schedule: &Schedule) {
    let after = Timestamp::from_ms(1_792_800_000_000).expect("a time");
    let mut last = after;
    for occurrence in schedule.preview(after, 5, Uuid::nil()) {
        let nominal = occurrence.occurrence.nominal;
        assert!(nominal > last, "{nominal} does not come after {last}");
        last = nominal;
    }
}

#[test]
fn fuzz_cron() {
    fuzz_text("cron", include_str!("corpus/cron.txt"), |text| {
        for zone in ["UTC", "Europe/Berlin", "Australia/Lord_Howe"] {
            let trigger = json!({ "type": "scheduled", "cron": text, "timezone": zone });
            let Some(definition) = definition(&trigger) else { return };
            let Some(schedule) = definition.trigger.schedule() else { return };
            if schedule.validate().is_ok() {
                assert_goes_forward(schedule);
            }
        }
    });
}

#[test]
fn fuzz_durations() {
    fuzz_text("duration", include_str!("corpus/duration.txt"), |text| {
        if let Ok(length) = text.parse::<Millis>() {
            assert_eq!(length.to_string().parse::<Millis>(), Ok(length), "{text:?} reads as {length}");
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            assert_eq!(time.to_string().parse::<Timestamp>().ok(), Some(time));
        }
    });
}

#[test]
fn fuzz_job_json() {
    fuzz_text("job", include_str!("corpus/job.txt"), |text| {
        let Ok(definition) = serde_json::from_str::<Definition>(text) else { return };
        let written = serde_json::to_string(&definition).unwrap();
        let again: Definition = serde_json::from_str(&written).unwrap();
        assert_eq!(again, definition, "what is written down reads the same");
    });
}

#[test]
fn fuzz_signature_headers() {
    let schemes = [
        Scheme::Github,
        Scheme::Slack,
        Scheme::Stripe,
        Scheme::Standard,
        Scheme::Hmac { header: None },
        Scheme::Bearer,
    ];
    let now = Timestamp::from_ms(1_531_420_618_000).unwrap();
    fuzz_text("signature", include_str!("corpus/signature.txt"), |text| {
        let lines: Vec<&str> = text.lines().collect();
        let headers: Vec<(String, String)> = lines
            .chunks(2)
            .map(|pair| (pair[0].to_owned(), pair.get(1).copied().unwrap_or_default().to_owned()))
            .collect();
        for scheme in &schemes {
            let believed = verify(scheme, "a secret that nobody wrote", Headers(&headers), b"{}", now);
            assert!(believed.is_err(), "{headers:?} was believed by {scheme:?}");
            delivery_id(Some(scheme), Headers(&headers), b"{}");
            replay_mark(Some(scheme), Headers(&headers), b"{}");
        }
    });
}

#[test]
fn fuzz_hook_bodies() {
    let filter = |pointer: &str, test| Filter { pointer: pointer.to_owned(), test };
    let filters = [
        filter("/action", Test::Equals(json!("opened"))),
        filter("/pull_request/labels/0/name", Test::Exists(true)),
        filter("/number", Test::OneOf(vec![json!(7), json!("7"), json!(null)])),
    ];
    fuzz_text("body", include_str!("corpus/body.txt"), |text| {
        for filter in &filters {
            filter.passes(text.as_bytes());
        }
        delivery_id(None, Headers(&[]), text.as_bytes());
    });
}
