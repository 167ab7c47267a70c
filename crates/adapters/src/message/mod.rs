//! What happened, in words that people understand at three in the morning: the same facts for every sender.
//!
//! Invariant: pure. Words follow from the message alone; how they are escaped and laid out is each sender's own affair,
//! so nothing here knows about markup.

mod incident;
mod job;
mod name;
mod phrase;

use ordo_model::notification::{Message, Subject};
use ordo_model::text::is_deceptive;

pub use name::{EVENT_TYPES, event_type};
pub use phrase::{Phrase, PhrasePiece};

/// A message in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub topic: Topic,
    pub happening: Phrase,
    /// What somebody wrote, or why something failed: as it is.
    pub quote: Option<String>,
    /// What else is worth knowing, each with its name.
    pub facts: Vec<(&'static str, String)>,
    pub mood: Mood,
}

/// What a message is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// A label: what happened goes on from it as a sentence.
    Job(String),
    /// A title, which is often a sentence of its own: what happened stands behind it.
    Incident(String),
}

impl Topic {
    pub fn text(&self) -> &str {
        match self {
            Topic::Job(text) | Topic::Incident(text) => text,
        }
    }
}

/// How it feels: decides about colours and icons, nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Bad,
    Worrying,
    Good,
    Neutral,
}

/// The message in words.
pub fn words(message: &Message) -> Words {
    match &message.subject {
        Subject::Job { job, notice } => job::words(job, notice, message.at),
        Subject::Incident { incident, event } => incident::words(incident, event),
    }
}

impl Words {
    /// One line without markup: the subject of a mail, the text of a notification.
    pub fn line(&self) -> String {
        let happening = self.happening.plain();
        match &self.topic {
            Topic::Job(label) => format!("{} {happening}", one_line(label)),
            Topic::Incident(title) => format!("{}: {happening}", one_line(title)),
        }
    }

    /// All of it as plain text.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.line());
        if let Some(quote) = &self.quote {
            text.push('\n');
            for line in quote.lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
        if !self.facts.is_empty() {
            text.push('\n');
        }
        for (name, fact) in &self.facts {
            text.push_str(&format!("{name}: {}\n", one_line(fact)));
        }
        text
    }
}

/// Titles come from anywhere; a line break in one must not begin a new line, or a new header.
pub(crate) fn one_line(text: &str) -> String {
    let printable = text.chars().map(|character| if is_deceptive(character) { ' ' } else { character });
    printable.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same for a piece of a sentence, whose spaces at its ends belong to the sentence.
pub(crate) fn one_line_inside(text: &str) -> String {
    text.chars().map(|character| if is_deceptive(character) { ' ' } else { character }).collect()
}
