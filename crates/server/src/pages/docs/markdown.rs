//! A document as HTML. Its headings have the anchors that links to them name; its links lead to other documents here.
//!
//! Invariant: HTML in a document is left out, so nothing that a page says becomes markup of its own.

use pulldown_cmark::{Alignment, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::book::{Book, address};

/// Where links to other documents lead: given an address below `/docs/`.
pub(super) fn render(text: &str, path: &str, book: &Book, link: &dyn Fn(&str) -> String) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, options).filter(|event| !is_markup(event)).collect();
    anchor(&mut events);
    for event in &mut events {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                if let Some(there) = resolved(path, dest_url, book) {
                    *dest_url = CowStr::from(link(&there));
                }
            }
            // A column that is aligned would be so by an inline style, which pages do not allow.
            Event::Start(Tag::Table(columns)) => columns.fill(Alignment::None),
            _ => {}
        }
    }
    let mut page = String::with_capacity(text.len() * 2);
    html::push_html(&mut page, events.into_iter());
    reachable(&page)
}

/// A text that people wrote, as HTML: no markup of its own, no pictures, and links only to the web.
pub(crate) fn plain(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let is_picture = |event: &Event<'_>| matches!(event, Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image));
    let events =
        Parser::new_ext(text, options).filter(|event| !is_markup(event) && !is_picture(event)).map(
            |event| match event {
                Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                    let is_of_the_web = dest_url.starts_with("https://")
                        || dest_url.starts_with("http://")
                        || dest_url.starts_with('/');
                    let dest_url = if is_of_the_web { dest_url } else { CowStr::from("#") };
                    Event::Start(Tag::Link { link_type, dest_url, title, id })
                }
                Event::Start(Tag::Table(columns)) => Event::Start(Tag::Table(vec![Alignment::None; columns.len()])),
                other => other,
            },
        );
    let mut page = String::with_capacity(text.len() * 2);
    html::push_html(&mut page, events);
    reachable(&page)
}

/// What scrolls by itself can be reached with the keyboard, and a column without a name has no head. Text is escaped:
/// these are tags of the page's own.
fn reachable(page: &str) -> String {
    page.replace("<pre>", "<pre tabindex=\"0\">")
        .replace("<table>", "<table tabindex=\"0\">")
        .replace("<th></th>", "<td></td>")
}

fn is_markup(event: &Event<'_>) -> bool {
    let block = |tag: &Tag<'_>| matches!(tag, Tag::HtmlBlock);
    match event {
        Event::Html(_) | Event::InlineHtml(_) | Event::End(TagEnd::HtmlBlock) => true,
        Event::Start(tag) => block(tag),
        _ => false,
    }
}

/// Gives each heading the anchor that forges give it.
fn anchor(events: &mut [Event<'_>]) {
    for at in 0..events.len() {
        if !matches!(events[at], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let words: String = events[at..]
            .iter()
            .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
            *id = Some(CowStr::from(slug(&words)));
        }
    }
}

fn slug(words: &str) -> String {
    let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The address of what a link on this page means, if it is a document here.
fn resolved(page: &str, target: &str, book: &Book) -> Option<String> {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    let there = parts.join("/");
    book.page(&there)?;
    Some(anchor.map_or_else(|| address(&there), |anchor| format!("{}#{anchor}", address(&there))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_cannot_act() {
        let shown = plain(
            "### Why\n\nA **bold** <script>x</script> [a](javascript:alert(1)) ![p](https://x/y.png) [b](https://x)",
        );
        assert!(shown.contains("<h3>Why</h3>") && shown.contains("<strong>bold</strong>"), "{shown}");
        assert!(!shown.contains("script>") && !shown.contains("javascript") && !shown.contains("<img"), "{shown}");
        assert!(shown.contains("href=\"https://x\""), "{shown}");
    }

    fn shown(text: &str) -> String {
        render(text, "docs/guides/upgrade.md", Book::of_this_binary(), &|there| format!("/base/docs/{there}"))
    }

    #[test]
    fn links_lead_to_documents_here_and_others_stay() {
        let page =
            shown("[Backup](backup.md) [log](../../CHANGELOG.md#x) [far](https://example.com/a.md) [here](#formats)");
        for link in
            ["/base/docs/guides/backup\"", "/base/docs/changelog#x\"", "https://example.com/a.md\"", "\"#formats\""]
        {
            assert!(page.contains(link), "{link}: {page}");
        }
    }

    #[test]
    fn headings_have_anchors_and_markup_is_left_out() {
        let page = shown("## To `0.2.0`, at once\n\n<!-- not run -->\n<script>alert(1)</script>\n\na <b>b</b> | c");
        assert!(page.contains("<h2 id=\"to-020-at-once\">"), "{page}");
        assert!(!page.contains("<script") && !page.contains("not run") && !page.contains("<b>"), "{page}");
    }
}
