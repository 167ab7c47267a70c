//! Tables for people: a line of names, then rows, no frame, so that they can also be cut with the usual tools.

use comfy_table::{ContentArrangement, Table, presets};

use crate::output::style::Paint;

/// Rows under their names. Without a terminal nothing is wrapped.
pub(crate) fn rows(names: &[&str], rows: Vec<Vec<String>>, paint: Paint) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(names.iter().map(|name| paint.dim(name)));
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    trim_lines(&table.to_string())
}

/// `name: value` lines, aligned.
pub(crate) fn fields(pairs: &[(&str, String)], paint: Paint) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| {
        let value = value.replace('\n', &format!("\n{:width$}  ", ""));
        format!("{}  {value}\n", paint.dim(&format!("{name:width$}")))
    };
    pairs.iter().map(line).collect()
}

fn trim_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// At most so many characters of a text, on one line.
pub(crate) fn short(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
