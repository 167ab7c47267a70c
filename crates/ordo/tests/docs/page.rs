//! A page as the runner sees it: its fenced blocks in order, each with the marker before it.
//!
//! Invariant: every block of commands is run, or a marker says why not.

use std::path::Path;

#[derive(Debug)]
pub(crate) struct DocumentPage {
    pub(crate) name: String,
    pub(crate) blocks: Vec<FencedBlock>,
}

#[derive(Debug)]
pub(crate) struct FencedBlock {
    /// The line of its fence.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) marker: Option<Marker>,
    pub(crate) text: String,
}

/// `<!-- … -->` on the last line before a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Marker {
    /// `not run: REASON`
    NotRun(String),
    /// `file: NAME`: the block is what stands in this file.
    File(String),
    /// `another terminal`: what is typed here goes on running.
    Background,
}

impl DocumentPage {
    pub(crate) fn read(name: &Path, text: &str) -> DocumentPage {
        let mut blocks = Vec::new();
        let mut marker = None;
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let trimmed = line.trim_start();
            if let Some(language) = trimmed.strip_prefix("```") {
                let indent = line.len() - trimmed.len();
                let body = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
                let text: String = body.map(|line| format!("{}\n", without_indent(line, indent))).collect();
                let language = language.trim().to_owned();
                blocks.push(FencedBlock { line: at + 1, language, marker: marker.take(), text });
            } else if !trimmed.is_empty() {
                marker = Marker::read(trimmed);
            }
        }
        DocumentPage { name: name.display().to_string(), blocks }
    }
}

fn without_indent(line: &str, indent: usize) -> &str {
    let there = line.len() - line.trim_start_matches(' ').len();
    &line[there.min(indent)..]
}

impl Marker {
    fn read(line: &str) -> Option<Marker> {
        let words = line.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
        if words == "another terminal" {
            return Some(Marker::Background);
        }
        let (kind, rest) = words.split_once(':')?;
        match kind {
            "not run" => Some(Marker::NotRun(rest.trim().to_owned())),
            "file" => Some(Marker::File(rest.trim().to_owned())),
            _ => None,
        }
    }
}

#[test]
fn a_block_knows_its_language_its_line_and_its_marker() {
    let text = "x\n\n<!-- file: a.toml -->\n\n```toml\nb = 1\n```\n- y\n\n  ```sh\n  ls\n    -l\n  ```\n";
    let page = DocumentPage::read(Path::new("p.md"), text);
    let [toml, sh] = page.blocks.as_slice() else { panic!("{page:?}") };
    assert_eq!((toml.line, toml.language.as_str(), toml.text.as_str()), (5, "toml", "b = 1\n"));
    assert_eq!(toml.marker, Some(Marker::File("a.toml".to_owned())));
    assert_eq!((sh.text.as_str(), &sh.marker), ("ls\n  -l\n", &None));
}
