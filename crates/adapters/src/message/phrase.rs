//! A phrase: words, with the people in it marked, so that each sender can name them in its own way.

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phrase(Vec<PhrasePiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhrasePiece {
    Text(String),
    /// Somebody, by the name the timeline knows: `anna`, `slack:U2CERLKJA`.
    Person(String),
}

impl Phrase {
    pub fn text(text: impl Into<String>) -> Phrase {
        Phrase(vec![PhrasePiece::Text(text.into())])
    }

    pub fn person(name: &str) -> Phrase {
        Phrase(vec![PhrasePiece::Person(name.to_owned())])
    }

    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Phrase {
        self.0.push(PhrasePiece::Text(text.into()));
        self
    }

    #[must_use]
    pub fn then_person(mut self, name: &str) -> Phrase {
        self.0.push(PhrasePiece::Person(name.to_owned()));
        self
    }

    pub fn pieces(&self) -> &[PhrasePiece] {
        &self.0
    }

    pub fn plain(&self) -> String {
        let plain = |piece: &PhrasePiece| match piece {
            PhrasePiece::Text(text) | PhrasePiece::Person(text) => super::one_line_inside(text),
        };
        self.0.iter().map(plain).collect()
    }
}
