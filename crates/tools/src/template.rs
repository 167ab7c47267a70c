//! Text with places for the fields of an input: `--for={slug}`.
//!
//! Invariant: pure substitution. A value ends up inside the one text its place stands in; it is never split,
//! never read again, and cannot add a place of its own.

use std::collections::BTreeMap;
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Field(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("{0:?} has a {{ without its }}: write {{{{ for a brace")]
    Open(String),
    #[error("{0:?} has a }} without its {{: write }}}} for a brace")]
    Close(String),
    #[error("{0:?} names no field between its braces: use letters, digits, _ and -, or {{{{ and }}}} for braces")]
    Name(String),
}

impl Template {
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Field(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// The field the text begins with, if it begins with one.
    pub(crate) fn leading_field(&self) -> Option<&str> {
        match self.0.first() {
            Some(TemplatePart::Field(name)) => Some(name),
            Some(TemplatePart::Text(_)) | None => None,
        }
    }

    /// The fields before the first text of the template's own.
    pub(crate) fn leading_fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map_while(|part| match part {
            TemplatePart::Field(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    pub(crate) fn is_literally(&self, text: &str) -> bool {
        matches!(self.0.as_slice(), [TemplatePart::Text(only)] if only == text)
    }

    /// Puts the values in their places. A field without a value stays empty; whoever calls has refused that before.
    pub(crate) fn fill(&self, values: &BTreeMap<&str, String>) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Field(name) => values.get(name.as_str()).cloned().unwrap_or_default(),
        };
        self.0.iter().map(part).collect()
    }

    fn add_text(&mut self, more: char) {
        match self.0.last_mut() {
            Some(TemplatePart::Text(text)) => text.push(more),
            Some(TemplatePart::Field(_)) | None => self.0.push(TemplatePart::Text(more.to_string())),
        }
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Template, TemplateError> {
        let mut template = Template(Vec::new());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            rest = &rest[first.len_utf8()..];
            match first {
                '{' | '}' if rest.starts_with(first) => {
                    template.add_text(first);
                    rest = &rest[1..];
                }
                '{' => {
                    let (name, after) = rest.split_once('}').ok_or_else(|| TemplateError::Open(text.to_owned()))?;
                    if !is_name(name) {
                        return Err(TemplateError::Name(text.to_owned()));
                    }
                    template.0.push(TemplatePart::Field(name.to_owned()));
                    rest = after;
                }
                '}' => return Err(TemplateError::Close(text.to_owned())),
                other => template.add_text(other),
            }
        }
        Ok(template)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        let values = BTreeMap::from([("slug", "a {b} $c".to_owned()), ("n", "5".to_owned())]);
        template.parse::<Template>().unwrap().fill(&values)
    }

    #[test]
    fn values_go_in_as_they_are_and_are_not_read_again() {
        assert_eq!(filled("--for={slug}"), "--for=a {b} $c");
        assert_eq!(filled("{n}{n}"), "55");
        assert_eq!(filled("plain"), "plain");
        assert_eq!(filled(""), "");
    }

    #[test]
    fn doubled_braces_are_braces() {
        assert_eq!(filled("{{n}}"), "{n}");
        assert_eq!(filled("{{{n}}}"), "{5}");
        assert_eq!(filled("awk {{print ${n}}}"), "awk {print $5}");
    }

    #[test]
    fn a_brace_that_means_nothing_is_refused() {
        let refused = |text: &str| text.parse::<Template>().expect_err("refused");
        assert!(matches!(refused("{"), TemplateError::Open(_)));
        assert!(matches!(refused("a}"), TemplateError::Close(_)));
        assert!(matches!(refused("{}"), TemplateError::Name(_)));
        assert!(matches!(refused("{a b}"), TemplateError::Name(_)));
        assert_eq!(refused("{x").to_string(), r#""{x" has a { without its }: write {{ for a brace"#);
    }

    #[test]
    fn fields_are_listed_and_a_leading_one_is_known() {
        let template: Template = "{a}-{b}".parse().unwrap();
        assert_eq!(template.fields().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(template.leading_field(), Some("a"));
        assert_eq!("x{a}".parse::<Template>().unwrap().leading_field(), None);
    }
}
