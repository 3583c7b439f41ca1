//! Rows that a person reads, in columns.

use std::fmt;

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Columns with their headings, as wide as their widest cell. The last column is not filled up.
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [(&'static str, Align); N]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row. A cell is one line, and nothing in it reaches the terminal as a command.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| one_line(&cell)));
    }

    fn widths(&self) -> [usize; N] {
        let mut widths = self.columns.map(|(heading, _)| heading.len());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let headings = self.columns.map(|(heading, _)| heading.to_owned());
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, width), (_, align)) in row.iter().zip(widths).zip(self.columns) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                line.push_str(&match align {
                    Align::Left => format!("{cell:width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The text without line breaks and other control characters, which text from elsewhere may hold.
pub(crate) fn one_line(text: &str) -> String {
    let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().map(visible).collect::<String>().trim_end().to_owned()
}

/// The text on one line, of at most so many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = one_line(text);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell() {
        let mut table = Table::new([("NAME", Align::Left), ("N", Align::Right), ("REST", Align::Left)]);
        table.row(["é".into(), "1234".into(), "x".into()]);
        table.row(["longer".into(), "5".into(), String::new()]);
        assert_eq!(table.to_string(), "NAME       N  REST\né       1234  x\nlonger     5\n");
    }

    #[test]
    fn a_cell_holds_no_control_character() {
        assert_eq!((cut("äöü", 2).as_str(), cut("äöü", 3).as_str()), ("äö…", "äöü"));
        assert_eq!(one_line("a\nb\u{1b}[2J\t"), "a b [2J");
    }
}
