//! The documents: which there are, where they stand in the table of contents, and which hold some words.
//!
//! Invariant: a page is known by its path in the repository; addresses are derived from it and lead back to it.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

/// Packed by the build script; empty in builds for tests.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/documents"));
const CONTENTS: &str = "docs/SUMMARY.md";
/// How much of a page is shown around the words that were searched for.
const EXCERPT_CHARS: usize = 160;
const FOUND_MAX: usize = 30;

static BOOK: LazyLock<Book> = LazyLock::new(|| {
    let packed = Book::unpack(PACKED);
    if packed.pages.is_empty() { Book::in_the_source_tree() } else { packed }
});

#[derive(Debug, Default)]
pub(super) struct Book {
    /// By path: pages and drawings.
    pages: BTreeMap<String, String>,
}

/// A line of the table of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentsLine {
    Part(String),
    Page { title: String, path: String },
}

/// How many words are searched for; further ones are not looked at. Each page is read for each of them.
const WORDS_MAX: usize = 16;

/// A page that holds the words that were searched for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundPage {
    pub(super) title: String,
    pub(super) path: String,
    pub(super) excerpt: String,
}

impl Book {
    pub(super) fn of_this_binary() -> &'static Book {
        &BOOK
    }

    fn unpack(packed: &[u8]) -> Book {
        let mut text = String::new();
        // What this build packed is whole; a book that is not has no pages.
        if flate2::read::ZlibDecoder::new(packed).read_to_string(&mut text).is_err() {
            return Book::default();
        }
        let (mut pages, mut rest) = (BTreeMap::new(), text.as_str());
        while let Some((line, after)) = rest.split_once('\n') {
            let Some((path, length)) = line.rsplit_once(' ') else { break };
            let Some((page, next)) = length.parse().ok().and_then(|length| after.split_at_checked(length)) else {
                break;
            };
            pages.insert(path.to_owned(), page.to_owned());
            rest = next;
        }
        Book { pages }
    }

    #[cfg(not(debug_assertions))]
    fn in_the_source_tree() -> Book {
        Book::default()
    }

    #[cfg(debug_assertions)]
    fn in_the_source_tree() -> Book {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let mut book = Book::default();
        book.pages.insert(CONTENTS.to_owned(), read(CONTENTS));
        let listed: Vec<String> = book.contents().into_iter().filter_map(ContentsLine::into_path).collect();
        for path in listed.into_iter().chain(["README.md", "CHANGELOG.md", "docs/pictures/dst.svg"].map(str::to_owned))
        {
            let text = read(&path);
            book.pages.insert(path, text);
        }
        book
    }

    pub(super) fn page(&self, path: &str) -> Option<&str> {
        self.pages.get(path).map(String::as_str)
    }

    /// The page or drawing at an address below `/docs/`.
    pub(super) fn at(&self, address: &str) -> Option<(&str, &str)> {
        let found = self.pages.iter().find(|(path, _)| self::address(path) == address);
        found.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn contents(&self) -> Vec<ContentsLine> {
        self.page(CONTENTS).unwrap_or_default().lines().skip(1).filter_map(contents_line).collect()
    }

    /// Pages that hold all of the words, those with a fitting title first.
    pub(super) fn search(&self, words: &str) -> Vec<FoundPage> {
        let words: Vec<String> = words.to_lowercase().split_whitespace().take(WORDS_MAX).map(str::to_owned).collect();
        let Some(first) = words.first() else { return Vec::new() };
        let mut found: Vec<(usize, FoundPage)> = Vec::new();
        for (path, text) in self.pages.iter().filter(|(path, _)| path.ends_with(".md") && *path != CONTENTS) {
            let (title, small) = (title(text), text.to_lowercase());
            if !words.iter().all(|word| small.contains(word)) {
                continue;
            }
            let in_title = words.iter().filter(|word| title.to_lowercase().contains(*word)).count();
            let rank = 1_000 * in_title + small.matches(first.as_str()).count().min(999);
            found.push((rank, FoundPage { title, path: path.clone(), excerpt: excerpt(text, first) }));
        }
        found.sort_by(|(one, page), (other, next)| other.cmp(one).then_with(|| page.path.cmp(&next.path)));
        found.into_iter().take(FOUND_MAX).map(|(_, page)| page).collect()
    }
}

#[cfg(any(debug_assertions, test))]
impl ContentsLine {
    fn into_path(self) -> Option<String> {
        match self {
            ContentsLine::Part(_) => None,
            ContentsLine::Page { path, .. } => Some(path),
        }
    }
}

/// `docs/guides/backup.md` is at `guides/backup`, `CHANGELOG.md` at `changelog`.
pub(super) fn address(path: &str) -> String {
    match (path.strip_prefix("docs/"), path.strip_suffix(".md")) {
        (Some(below), _) => below.strip_suffix(".md").unwrap_or(below).to_owned(),
        (None, Some(name)) => name.to_lowercase(),
        (None, None) => path.to_owned(),
    }
}

/// The first heading.
pub(super) fn title(text: &str) -> String {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or("Ordo").replace('`', "")
}

fn contents_line(line: &str) -> Option<ContentsLine> {
    if let Some(part) = line.strip_prefix("# ") {
        return Some(ContentsLine::Part(part.to_owned()));
    }
    let (title, path) = line.trim().trim_start_matches("- ").strip_prefix('[')?.split_once("](")?;
    Some(ContentsLine::Page { title: title.to_owned(), path: format!("docs/{}", path.strip_suffix(')')?) })
}

/// What stands around the first of the words, on one line.
fn excerpt(text: &str, word: &str) -> String {
    let shown: Vec<&str> =
        text.lines().filter(|line| line.to_lowercase().contains(word) && !line.starts_with("# ")).take(1).collect();
    shown.concat().chars().filter(|c| !"`*|[]#".contains(*c)).take(EXCERPT_CHARS).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn book(pages: &[(&str, &str)]) -> Book {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        for (path, text) in pages {
            write!(packed, "{path} {}\n{text}", text.len()).unwrap();
        }
        Book::unpack(&packed.finish().unwrap())
    }

    #[test]
    fn what_was_packed_is_found_again_by_its_address() {
        let book = book(&[("README.md", "# Ordo\nä"), ("docs/a b.md", ""), ("docs/guides/backup.md", "# Back up\n")]);
        assert_eq!(book.at("guides/backup"), Some(("docs/guides/backup.md", "# Back up\n")));
        assert_eq!(book.at("readme"), Some(("README.md", "# Ordo\nä")));
        assert_eq!(book.at("guides"), None);
    }

    #[test]
    fn the_contents_are_those_of_the_summary() {
        let book =
            book(&[(CONTENTS, "# Summary\n\n[Why](why.md)\n\n# Guides\n\n- [A](guides/a.md)\n  - [B](adr/b.md)\n")]);
        let page = |title: &str, path: &str| ContentsLine::Page { title: title.into(), path: path.into() };
        let expected = [
            page("Why", "docs/why.md"),
            ContentsLine::Part("Guides".into()),
            page("A", "docs/guides/a.md"),
            page("B", "docs/adr/b.md"),
        ];
        assert_eq!(book.contents(), expected);
    }

    #[test]
    fn a_page_with_the_words_in_its_title_comes_first() {
        let pages = [("docs/x.md", "# Other\nA backup is a copy. backup backup"), ("docs/y.md", "# Backup\nTake one.")];
        let found: Vec<String> = book(&pages).search("BACKUP").into_iter().map(|page| page.path).collect();
        assert_eq!(found, ["docs/y.md", "docs/x.md"]);
        assert!(book(&pages).search("backup nowhere").is_empty() && book(&pages).search(" ").is_empty());
    }

    #[test]
    fn every_page_of_the_contents_is_there() {
        let book = Book::of_this_binary();
        let missing: Vec<String> = book
            .contents()
            .into_iter()
            .filter_map(ContentsLine::into_path)
            .filter(|path| book.page(path).is_none())
            .collect();
        assert!(missing.is_empty() && book.contents().len() > 30, "{missing:?}");
    }
}
