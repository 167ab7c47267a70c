//! Stories of who did it: what is recorded of a caller, and what a caller cannot make of itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ordo_model::actor::{Actor, ActorSource};
use ordo_model::incident::{By, IncidentSource};
use ordo_model::limits::ACTOR_MAX_BYTES;
use serde_json::json;

fn ci() -> Actor {
    Actor::new("ci", ActorSource::Api).with_request(Some("r-1".into()))
}

#[test]
fn a_name_in_a_request_does_not_replace_the_one_that_was_let_in() {
    let actor = ci().on_behalf_of(Some("ana".into())).unwrap();
    assert_eq!((actor.name.as_str(), actor.on_behalf_of.as_deref()), ("ci", Some("ana")));
    assert_eq!(actor.to_string(), "ci for ana · api");
}

#[test]
fn whoever_names_itself_acts_for_itself() {
    let actor = ci().on_behalf_of(Some("ci".into())).unwrap();
    assert_eq!(actor, ci());
    assert_eq!(ci().on_behalf_of(None).unwrap(), ci());
}

#[test]
fn a_name_that_cannot_be_shown_is_refused() {
    for bad in ["", "  ", "ana\nadmin", "\u{202e}nimda", &"x".repeat(ACTOR_MAX_BYTES + 1)] {
        let refused = ci().on_behalf_of(Some(bad.to_owned())).unwrap_err();
        assert_eq!(refused.field, "actor", "{bad:?}");
    }
    assert!(ci().on_behalf_of(Some("x".repeat(ACTOR_MAX_BYTES))).is_ok());
}

#[test]
fn a_claim_only_tells_the_command_line_from_other_users_of_the_api() {
    assert_eq!(ActorSource::Api.calling_itself(Some("cli")), ActorSource::Cli);
    for claimed in [None, Some(""), Some("page"), Some("slack"), Some("hook"), Some("ordo"), Some("CLI")] {
        assert_eq!(ActorSource::Api.calling_itself(claimed), ActorSource::Api, "{claimed:?}");
    }
    for source in [ActorSource::Page, ActorSource::Slack, ActorSource::Hook, ActorSource::Executor, ActorSource::Ping] {
        assert_eq!(source.calling_itself(Some("cli")), source, "what is known is not claimed");
    }
}

#[test]
fn an_actor_reads_back_and_says_only_what_it_has() {
    let full = ci().on_behalf_of(Some("ana".into())).unwrap();
    let form = json!({"name": "ci", "source": "api", "on_behalf_of": "ana", "request_id": "r-1"});
    assert_eq!(serde_json::to_value(&full).unwrap(), form);
    assert_eq!(serde_json::from_value::<Actor>(form).unwrap(), full);
    assert_eq!(serde_json::to_value(Actor::ordo()).unwrap(), json!({"name": "ordo", "source": "ordo"}));
    let newer = json!({"name": "x", "source": "telepathy", "mood": "good"});
    assert_eq!(serde_json::from_value::<Actor>(newer).unwrap().source, ActorSource::Unknown);
}

#[test]
fn an_incident_knows_who_acted_and_for_whom() {
    let by = By::of(&ci().on_behalf_of(Some("ana".into())).unwrap());
    assert_eq!((by.actor.as_str(), by.source, by.on_behalf_of.as_deref()), ("ci", IncidentSource::Api, Some("ana")));
    assert_eq!((by.to_string().as_str(), by.person()), ("ci for ana", "ana"));
    let page = By::of(&Actor::new("bo", ActorSource::Page));
    assert_eq!((page.to_string().as_str(), page.person(), page.source), ("bo", "bo", IncidentSource::Page));
    let older: By = serde_json::from_value(json!({"actor": "ana", "source": "api"})).unwrap();
    assert_eq!((older.person(), older.on_behalf_of.as_deref()), ("ana", None));
}
