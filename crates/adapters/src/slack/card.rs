//! How things look in Slack: the card of an incident, a line of its timeline, news of a job.
//!
//! Invariant: whatever a user wrote goes through `mrkdwn`; what looks like markup here is ours.

use ordo_model::Timestamp;
use ordo_model::incident::{By, IncidentStatus, Severity};
use ordo_model::notification::IncidentSubject;
use serde_json::{Value, json};

use super::interactions::{ACKNOWLEDGE, ASSIGN_TO_ME, SEVERITY, STATUS, choice};
use super::mrkdwn::{self, code_block, line, plain, text};
use crate::message::{Mood, Phrase, PhrasePiece, Words};

/// As Slack counts, after escaping: a header has at most 150 characters, an icon among them, a section 3,000.
const TITLE_MAX_CHARS: usize = 140;
const QUOTE_MAX_CHARS: usize = 2_500;
const NAME_MAX_CHARS: usize = 200;

/// What Slack shows where it shows no blocks: in notifications.
pub(crate) fn fallback(incident: &IncidentSubject) -> String {
    format!(
        "{} {} ({}, {})",
        icon(mood(incident)),
        line(&incident.title, TITLE_MAX_CHARS),
        incident.card.severity,
        incident.card.status
    )
}

/// The incident as it stands.
pub(crate) fn blocks(incident: &IncidentSubject) -> Value {
    let title = format!("{} {}", icon(mood(incident)), plain(&incident.title, TITLE_MAX_CHARS));
    let mut blocks = vec![
        json!({ "type": "header", "text": { "type": "plain_text", "text": title, "emoji": true } }),
        json!({ "type": "section", "fields": fields(incident) }),
    ];
    if !incident.description.trim().is_empty() {
        let text = code_block(incident.description.trim(), QUOTE_MAX_CHARS);
        blocks.push(json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } }));
    }
    blocks.push(json!({ "type": "actions", "elements": actions(incident) }));
    let small = format!(
        "Incident {} · started {} by {}",
        incident.id,
        date(incident.created_at),
        started_by(&incident.started_by)
    );
    blocks.push(json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": small }] }));
    Value::Array(blocks)
}

fn started_by(by: &By) -> String {
    let whom = by.on_behalf_of.as_ref().map(|whom| format!(" for {}", person(whom)));
    person(&by.actor) + &whom.unwrap_or_default()
}

fn fields(incident: &IncidentSubject) -> Vec<Value> {
    let field = |name: &str, value: String| json!({ "type": "mrkdwn", "text": format!("*{name}*\n{value}") });
    let acknowledged = incident
        .card
        .acknowledged_by
        .as_deref()
        .map_or_else(|| "not yet".to_owned(), |name| format!("by {}", person(name)));
    vec![
        field("Status", incident.card.status.to_string()),
        field("Severity", incident.card.severity.to_string()),
        field("Assignee", incident.card.assignee.as_deref().map_or_else(|| "nobody".to_owned(), person)),
        field("Acknowledged", acknowledged),
    ]
}

fn actions(incident: &IncidentSubject) -> Vec<Value> {
    let button = |action: &str, text: &str, value: String| {
        json!({ "type": "button", "action_id": action, "value": value,
            "text": { "type": "plain_text", "text": text, "emoji": true } })
    };
    let mut elements = Vec::new();
    if !incident.card.status.is_ended() && incident.card.acknowledged_by.is_none() {
        let mut acknowledge = button(ACKNOWLEDGE, "Acknowledge", incident.id.to_string());
        acknowledge["style"] = "primary".into();
        elements.push(acknowledge);
    }
    if !incident.card.status.is_ended() {
        elements.push(button(ASSIGN_TO_ME, "Assign to me", incident.id.to_string()));
    }
    let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.name()).collect();
    elements.push(menu(incident, SEVERITY, "Severity", &severities, Some(incident.card.severity.name())));
    let moves: Vec<&str> = incident.card.status.moves().iter().map(|status| status.name()).collect();
    elements.push(menu(incident, STATUS, "Set status", &moves, None));
    elements
}

fn menu(incident: &IncidentSubject, action: &str, placeholder: &str, words: &[&str], chosen: Option<&str>) -> Value {
    let option = |word: &str| json!({ "text": { "type": "plain_text", "text": word, "emoji": false }, "value": choice(incident.id, word) });
    let mut menu = json!({
        "type": "static_select",
        "action_id": action,
        "placeholder": { "type": "plain_text", "text": placeholder, "emoji": false },
        "options": words.iter().map(|word| option(word)).collect::<Vec<_>>(),
    });
    if let Some(word) = chosen {
        menu["initial_option"] = option(word);
    }
    menu
}

/// One line of the timeline, with what was written below it.
pub(crate) fn timeline(words: &Words) -> String {
    with_quote(format!("{} {}", icon(words.mood), phrase(&words.happening)), words)
}

/// News of a job, which has no card.
pub(crate) fn news(words: &Words) -> String {
    let first =
        format!("{} *{}* {}", icon(words.mood), line(words.topic.text(), NAME_MAX_CHARS), phrase(&words.happening));
    let facts: Vec<String> =
        words.facts.iter().map(|(name, fact)| format!("{name}: {}", line(fact, NAME_MAX_CHARS))).collect();
    format!("{}\n{}", with_quote(first, words), facts.join(" · "))
}

fn with_quote(text: String, words: &Words) -> String {
    match &words.quote {
        Some(quote) => format!("{text}\n{}", code_block(quote.trim(), QUOTE_MAX_CHARS)),
        None => text,
    }
}

fn phrase(phrase: &Phrase) -> String {
    let piece = |piece: &PhrasePiece| match piece {
        PhrasePiece::Text(said) => text(said, QUOTE_MAX_CHARS),
        PhrasePiece::Person(name) => person(name),
    };
    phrase.pieces().iter().map(piece).collect()
}

/// Somebody who acted in Slack is mentioned; everybody else is a name.
pub(crate) fn person(name: &str) -> String {
    match name.strip_prefix("slack:") {
        Some(id) => mrkdwn::user(id),
        None => line(name, NAME_MAX_CHARS),
    }
}

/// In the time zone of whoever looks.
fn date(at: Timestamp) -> String {
    let fallback = at.to_jiff().strftime("%Y-%m-%d %H:%M UTC");
    format!("<!date^{}^{{date_short_pretty}} {{time}}|{fallback}>", at.ms() / 1_000)
}

fn mood(incident: &IncidentSubject) -> Mood {
    match incident.card.status {
        IncidentStatus::Open if incident.card.acknowledged_by.is_some() => Mood::Worrying,
        IncidentStatus::Open => Mood::Bad,
        IncidentStatus::Mitigating => Mood::Worrying,
        IncidentStatus::Resolved => Mood::Good,
        IncidentStatus::Declined => Mood::Neutral,
    }
}

const fn icon(mood: Mood) -> &'static str {
    match mood {
        Mood::Bad => "🔴",
        Mood::Worrying => "🟠",
        Mood::Good => "🟢",
        Mood::Neutral => "⚪",
    }
}
