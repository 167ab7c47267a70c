//! The rows of a dump that `mysqldump` wrote: `INSERT` statements, with the columns that they or the tables name.
//!
//! Invariant: only `CREATE TABLE` and `INSERT INTO` are read; every other statement, comments and conditional comments are
//! passed over. A value is what the server would show as text; NULL is none.

use std::collections::BTreeMap;

/// A row by the names of its columns, and the line it begins in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DumpRow {
    pub(super) line: usize,
    pub(super) values: BTreeMap<String, Option<String>>,
}

impl DumpRow {
    /// What stands in a column; an empty text is none.
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        self.values.get(column)?.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, column: &str) -> Option<i64> {
        self.text(column)?.parse().ok()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct NotADump {
    pub line: usize,
    pub why: String,
}

/// The rows of these tables, in the order of the file.
pub(super) fn rows(text: &str, tables: &[&str]) -> Result<BTreeMap<String, Vec<DumpRow>>, NotADump> {
    let mut reader = DumpReader { tokens: tokens(text)?, place: 0 };
    let (mut columns, mut found) = (BTreeMap::new(), BTreeMap::<String, Vec<DumpRow>>::new());
    while reader.peek().is_some() {
        if reader.words(&["CREATE", "TABLE"]) {
            let (table, named) = reader.table()?;
            columns.insert(table, named);
        } else if reader.words(&["INSERT", "INTO"]) || reader.words(&["INSERT", "IGNORE", "INTO"]) {
            let (table, rows) = reader.insert(&columns, tables)?;
            found.entry(table).or_default().extend(rows);
        }
        reader.end_statement();
    }
    Ok(found)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    /// In backquotes.
    Name(String),
    Text(String),
    Sign(char),
}

struct DumpReader {
    tokens: Vec<(Token, usize)>,
    place: usize,
}

impl DumpReader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.place).map(|(token, _)| token)
    }

    fn line(&self) -> usize {
        let place = self.place.min(self.tokens.len().saturating_sub(1));
        self.tokens.get(place).map_or(1, |(_, line)| *line)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.place += 1;
        token
    }

    fn is_sign(&self, sign: char) -> bool {
        self.peek() == Some(&Token::Sign(sign))
    }

    fn sign(&mut self, sign: char) -> Result<(), NotADump> {
        match self.is_sign(sign) {
            true => {
                self.place += 1;
                Ok(())
            }
            false => Err(NotADump { line: self.line(), why: format!("{sign} is missing") }),
        }
    }

    /// Passes these words if they come next.
    fn words(&mut self, words: &[&str]) -> bool {
        let fits = words.iter().enumerate().all(|(ahead, word)| match self.tokens.get(self.place + ahead) {
            Some((Token::Word(found), _)) => found.eq_ignore_ascii_case(word),
            Some(_) | None => false,
        });
        if fits {
            self.place += words.len();
        }
        fits
    }

    fn end_statement(&mut self) {
        while let Some(token) = self.next() {
            if token == Token::Sign(';') {
                return;
            }
        }
    }

    /// A name, without the database before it.
    fn name(&mut self) -> Result<String, NotADump> {
        let line = self.line();
        match self.next() {
            Some(Token::Name(name) | Token::Word(name)) if self.is_sign('.') => {
                self.place += 1;
                drop(name);
                self.name()
            }
            Some(Token::Name(name) | Token::Word(name)) => Ok(name.to_ascii_lowercase()),
            Some(_) | None => Err(NotADump { line, why: "a name is missing".to_owned() }),
        }
    }

    /// The columns are what stands in backquotes at the beginning of a definition.
    fn table(&mut self) -> Result<(String, Vec<String>), NotADump> {
        self.words(&["IF", "NOT", "EXISTS"]);
        let table = self.name()?;
        self.sign('(')?;
        let (mut columns, mut depth, mut begins) = (Vec::new(), 1, true);
        while depth > 0 {
            let line = self.line();
            match self.next() {
                Some(Token::Sign('(')) => depth += 1,
                Some(Token::Sign(')')) => depth -= 1,
                Some(Token::Sign(',')) if depth == 1 => {
                    begins = true;
                    continue;
                }
                Some(Token::Name(name)) if begins => columns.push(name.to_ascii_lowercase()),
                Some(_) => {}
                None => return Err(NotADump { line, why: "the table has no end".to_owned() }),
            }
            begins = false;
        }
        Ok((table, columns))
    }

    fn insert(
        &mut self,
        known: &BTreeMap<String, Vec<String>>,
        wanted: &[&str],
    ) -> Result<(String, Vec<DumpRow>), NotADump> {
        let table = self.name()?;
        if !wanted.contains(&table.as_str()) {
            return Ok((table, Vec::new()));
        }
        let columns = match self.is_sign('(') {
            true => self.columns()?,
            false => {
                let why = format!("{table} has no columns: dump it with its CREATE TABLE, or with --complete-insert");
                known.get(&table).cloned().ok_or(NotADump { line: self.line(), why })?
            }
        };
        if !self.words(&["VALUES"]) {
            return Err(NotADump { line: self.line(), why: "VALUES is missing".to_owned() });
        }
        let mut rows = vec![self.row(&columns)?];
        while self.is_sign(',') {
            self.place += 1;
            rows.push(self.row(&columns)?);
        }
        Ok((table, rows))
    }

    fn columns(&mut self) -> Result<Vec<String>, NotADump> {
        self.sign('(')?;
        let mut columns = vec![self.name()?];
        while self.is_sign(',') {
            self.place += 1;
            columns.push(self.name()?);
        }
        self.sign(')')?;
        Ok(columns)
    }

    fn row(&mut self, columns: &[String]) -> Result<DumpRow, NotADump> {
        let line = self.line();
        self.sign('(')?;
        let mut values = vec![self.value()?];
        while self.is_sign(',') {
            self.place += 1;
            values.push(self.value()?);
        }
        self.sign(')')?;
        if values.len() != columns.len() {
            let why = format!("{} values for {} columns", values.len(), columns.len());
            return Err(NotADump { line, why });
        }
        Ok(DumpRow { line, values: columns.iter().cloned().zip(values).collect() })
    }

    fn value(&mut self) -> Result<Option<String>, NotADump> {
        let line = self.line();
        match self.next() {
            // _binary 'x', _utf8mb4 'x'
            Some(Token::Word(word)) if word.starts_with('_') => self.value(),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("NULL") => Ok(None),
            Some(Token::Word(word)) => Ok(Some(word)),
            Some(Token::Text(text)) => Ok(Some(text)),
            Some(Token::Sign(sign @ ('-' | '+'))) => {
                Ok(self.value()?.map(|value| if sign == '-' { format!("-{value}") } else { value }))
            }
            Some(Token::Name(_) | Token::Sign(_)) | None => {
                Err(NotADump { line, why: "a value is missing".to_owned() })
            }
        }
    }
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, NotADump> {
    let (mut tokens, mut line) = (Vec::new(), 1);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let begun = line;
        let length = match first {
            '\n' => 1,
            '#' => line_end(rest),
            '-' if rest.starts_with("--") => line_end(rest),
            '/' if rest.starts_with("/*") => comment_end(rest).ok_or_else(|| unended(begun, "a comment"))?,
            '\'' | '"' => {
                let (value, length) = quoted(rest, first).ok_or_else(|| unended(begun, "a text"))?;
                tokens.push((Token::Text(value), begun));
                length
            }
            '`' => {
                let end = rest[1..].find('`').ok_or_else(|| unended(begun, "a name"))?;
                tokens.push((Token::Name(rest[1..=end].to_owned()), begun));
                end + 2
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ if is_of_word(first) => {
                let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                tokens.push((Token::Word(rest[..length].to_owned()), begun));
                length
            }
            _ => {
                tokens.push((Token::Sign(first), begun));
                first.len_utf8()
            }
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn unended(line: usize, what: &str) -> NotADump {
    NotADump { line, why: format!("{what} has no end") }
}

/// Numbers are words too; a name before a dot is not.
fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '@' | '$')
}

fn line_end(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

fn comment_end(rest: &str) -> Option<usize> {
    rest.find("*/").map(|end| end + 2)
}

/// A text without its quotes and escapes, and how long it was with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'Z' => '\u{1a}',
                other => other,
            }),
            _ if character == quote => match characters.peek() {
                Some((_, next)) if *next == quote => {
                    characters.next();
                    value.push(quote);
                }
                Some(_) | None => return Some((value, place + quote.len_utf8())),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> BTreeMap<String, Vec<DumpRow>> {
        rows(text, &["t"]).unwrap()
    }

    #[test]
    fn rows_are_read_with_the_columns_of_the_table_or_of_the_statement() {
        let created = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `name` varchar(9) DEFAULT 'a,b' COMMENT 'x',\n  PRIMARY KEY (`id`),\n  KEY `k` (`name`)\n) ENGINE=InnoDB;\n";
        let all = read(&format!("{created}INSERT INTO `t` VALUES (1,'a'),(-2,NULL);"));
        assert_eq!(all["t"].len(), 2);
        assert_eq!((all["t"][0].number("id"), all["t"][0].text("name")), (Some(1), Some("a")));
        assert_eq!((all["t"][1].number("id"), all["t"][1].text("name")), (Some(-2), None));
        assert_eq!(all["t"][0].line, 7);
        let named = read("insert into db.t (name, id) values ('b', 7);");
        assert_eq!((named["t"][0].number("id"), named["t"][0].text("name")), (Some(7), Some("b")));
    }

    #[test]
    fn texts_keep_what_stands_in_them() {
        let all = read("INSERT INTO t (a,b,c) VALUES ('it''s; -- \\'q\\' \\n','/* x */',_binary 'z');");
        let row = &all["t"][0];
        assert_eq!(row.values["a"].as_deref(), Some("it's; -- 'q' \n"));
        assert_eq!((row.text("b"), row.text("c")), (Some("/* x */"), Some("z")));
    }

    #[test]
    fn everything_else_in_a_dump_is_passed_over() {
        let text = "-- MySQL dump\n/*!40101 SET NAMES utf8 */;\nLOCK TABLES `u` WRITE;\nINSERT INTO `u` VALUES (1);\nSET @x = 'a;b';\n";
        assert!(!read(text).contains_key("t"));
    }

    #[test]
    fn what_is_cut_off_or_does_not_fit_is_named_with_its_line() {
        let refused = |text: &str| rows(text, &["t"]).unwrap_err();
        assert_eq!(refused("\nINSERT INTO t (a) VALUES ('x").line, 2);
        assert!(refused("INSERT INTO t (a) VALUES (1,2);").why.contains("2 values for 1 columns"));
        assert!(refused("INSERT INTO t VALUES (1);").why.contains("--complete-insert"));
    }
}
