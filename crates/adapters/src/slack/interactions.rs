//! What people do with the buttons and menus of a card: `/slack/interaction`.
//!
//! Invariant: which incident is meant stands in the card itself, put there by us; nothing is looked up here.

use serde::Deserialize;
use uuid::Uuid;

/// The names of the actions on a card.
pub(crate) const ACKNOWLEDGE: &str = "ordo_acknowledge";
pub(crate) const ASSIGN_TO_ME: &str = "ordo_assign_to_me";
pub(crate) const SEVERITY: &str = "ordo_severity";
pub(crate) const STATUS: &str = "ordo_status";

/// Somebody pressed a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    pub incident: Uuid,
    /// Slack's id of the person.
    pub user: String,
    pub deed: InteractionAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InteractionAction {
    Acknowledge,
    AssignToMe,
    Severity(String),
    Status(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body is not an interaction of Slack's: {0}")]
pub struct NotAnInteraction(String);

#[derive(Deserialize)]
struct InteractionPayload {
    r#type: String,
    user: User,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Deserialize)]
struct User {
    id: String,
}

#[derive(Deserialize)]
struct Action {
    #[serde(default)]
    action_id: String,
    #[serde(default)]
    value: String,
    selected_option: Option<SelectedOption>,
}

#[derive(Deserialize)]
struct SelectedOption {
    value: String,
}

/// Reads the body of a request whose signature was right. What is not ours is left out.
pub fn read(body: &[u8]) -> Result<Vec<Interaction>, NotAnInteraction> {
    let payload = form_urlencoded::parse(body).find(|(name, _)| name == "payload");
    let (_, payload) = payload.ok_or_else(|| NotAnInteraction("the form has no field \"payload\"".to_owned()))?;
    let payload: InteractionPayload =
        serde_json::from_str(&payload).map_err(|error| NotAnInteraction(error.to_string()))?;
    if payload.r#type != "block_actions" {
        return Ok(Vec::new());
    }
    let user = payload.user.id;
    Ok(payload.actions.into_iter().filter_map(|action| pressed(&user, action)).collect())
}

fn pressed(user: &str, action: Action) -> Option<Interaction> {
    let value = action.selected_option.map_or(action.value, |chosen| chosen.value);
    let (incident, word) = value.split_once(':').unwrap_or((&value, ""));
    let deed = match action.action_id.as_str() {
        ACKNOWLEDGE => InteractionAction::Acknowledge,
        ASSIGN_TO_ME => InteractionAction::AssignToMe,
        SEVERITY => InteractionAction::Severity(word.to_owned()),
        STATUS => InteractionAction::Status(word.to_owned()),
        _ => return None,
    };
    Some(Interaction { incident: Uuid::try_parse(incident).ok()?, user: user.to_owned(), deed })
}

/// What a choice of a menu carries: the incident and the word that was chosen.
pub(crate) fn choice(incident: Uuid, word: &str) -> String {
    format!("{incident}:{word}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn form(payload: &Value) -> Vec<u8> {
        form_urlencoded::Serializer::new(String::new())
            .append_pair("payload", &payload.to_string())
            .finish()
            .into_bytes()
    }

    fn action(more: &Value) -> Value {
        let mut action = json!({"action_id": ACKNOWLEDGE, "value": Uuid::from_u128(7)});
        for (key, value) in more.as_object().unwrap() {
            action[key] = value.clone();
        }
        json!({"type": "block_actions", "user": {"id": "U1", "name": "anna"}, "actions": [action]})
    }

    fn deed(more: &Value) -> Option<InteractionAction> {
        let mut pressed = read(&form(&action(more))).unwrap();
        assert!(pressed.iter().all(|one| one.incident == Uuid::from_u128(7) && one.user == "U1"));
        pressed.pop().map(|one| one.deed)
    }

    #[test]
    fn every_button_and_menu_has_its_deed() {
        let choose = |id: &str, word: &str| json!({"action_id": id, "selected_option": {"value": choice(Uuid::from_u128(7), word)}});
        assert_eq!(deed(&json!({})), Some(InteractionAction::Acknowledge));
        assert_eq!(deed(&json!({"action_id": ASSIGN_TO_ME})), Some(InteractionAction::AssignToMe));
        assert_eq!(deed(&choose(SEVERITY, "sev1")), Some(InteractionAction::Severity("sev1".into())));
        assert_eq!(deed(&choose(STATUS, "resolved")), Some(InteractionAction::Status("resolved".into())));
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        assert_eq!(deed(&json!({"action_id": "other"})), None);
        assert_eq!(deed(&json!({"value": "other"})), None);
        assert_eq!(read(&form(&json!({"type": "view_closed", "user": {"id": "U1"}}))), Ok(Vec::new()));
        for body in [b"".as_slice(), b"payload=", b"payload=%7B", b"other=1"] {
            assert!(read(body).is_err());
        }
    }
}
