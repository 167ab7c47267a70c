//! Tables for people: a line of names, then rows, no frame, so that they can also be cut with the usual tools.
//!
//! Invariant: on a terminal no line is longer than the terminal is wide; where the table does not fit, its widest columns are
//! shortened first. Into a file or a pipe everything is written in full, unless `COLUMNS` says how wide it may be.

use std::io::IsTerminal;

use comfy_table::{ContentArrangement, Table, presets};

use crate::output::style::Paint;

/// Between two columns.
const GAP: usize = 2;
/// No column is shortened below this.
const NARROWEST: usize = 8;

/// The columns that are never shortened.
const WHOLE: [&str; 2] = ["ID", "AT"];

/// Rows under their names.
pub(crate) fn rows(names: &[&str], rows: Vec<Vec<String>>, paint: Paint) -> String {
    let rows = match width() {
        Some(width) => fitted(names, rows, width),
        None => rows,
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(names.iter().map(|name| paint.dim(name)));
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    trim_lines(&table.to_string())
}

/// How wide a line may be.
fn width() -> Option<usize> {
    let asked =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok()).filter(|width| *width > 0);
    if !std::io::stdout().is_terminal() {
        return asked;
    }
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    terminal.filter(|width| *width > 0).or(asked)
}

/// The rows with the widest columns shortened until a line fits.
fn fitted(names: &[&str], mut rows: Vec<Vec<String>>, width: usize) -> Vec<Vec<String>> {
    let widest =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| visible(cell)).max().unwrap_or(0);
    let mut widths: Vec<usize> =
        names.iter().enumerate().map(|(column, name)| widest(column).max(name.chars().count())).collect();
    let before = widths.clone();
    // A coloured cell is a state: short already, and never cut. An id that is cut names nothing, a time
    // without its end is another.
    let is_coloured = |column: usize| rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.contains('\x1b')));
    let can_give: Vec<bool> =
        (0..names.len()).map(|column| !is_coloured(column) && !WHOLE.contains(&names[column])).collect();
    loop {
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let givers = widths.iter().copied().enumerate().filter(|(column, _)| can_give[*column]);
        let Some((column, most)) = givers.max_by_key(|(_, width)| *width) else { break };
        if total <= width || most <= NARROWEST {
            break;
        }
        widths[column] -= (total - width).min(most - NARROWEST).min(most.div_ceil(8));
    }
    for row in &mut rows {
        for (column, cell) in row.iter_mut().enumerate() {
            if widths.get(column) < before.get(column) {
                *cell = short(cell, widths[column]);
            }
        }
    }
    rows
}

/// Its characters without colours.
fn visible(cell: &str) -> usize {
    let mut count = 0;
    let mut in_colour = false;
    for character in cell.chars() {
        match (character, in_colour) {
            ('\x1b', _) => in_colour = true,
            ('m', true) => in_colour = false,
            (_, true) => {}
            (_, false) => count += 1,
        }
    }
    count
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_give_way() {
        let row =
            vec!["a".repeat(40), "\x1b[32mcompleted\x1b[0m".to_owned(), "b".repeat(50), "0199a1b2-c3d4".to_owned()];
        let fitted = fitted(&["LABEL", "STATE", "WHY", "ID"], vec![row], 80);
        let widths: Vec<usize> = fitted[0].iter().map(|cell| visible(cell)).collect();
        assert!(widths.iter().sum::<usize>() + 6 <= 80, "{widths:?}");
        assert_eq!((widths[1], widths[3]), (9, 13), "what names something stays whole");
        assert!(fitted[0][0].ends_with('…') && fitted[0][2].ends_with('…'));
    }

    #[test]
    fn a_coloured_column_is_never_counted_as_shorter_than_it_is_shown() {
        let row = vec!["a".repeat(30), "\x1b[32mcompleted 107ms ago, or even later than that\x1b[0m".to_owned()];
        let fitted = fitted(&["LABEL", "LAST"], vec![row], 60);
        assert!(fitted[0].iter().map(|cell| visible(cell)).sum::<usize>() + 2 <= 60, "{fitted:?}");
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let row = vec!["hello".to_owned(), "every 10 seconds".to_owned()];
        assert_eq!(fitted(&["LABEL", "RUNS"], vec![row.clone()], 80), [row]);
    }
}
