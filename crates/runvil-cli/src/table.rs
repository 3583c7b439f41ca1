//! Rows that a person reads, in columns.

use std::fmt;

use console::{Alignment, Term, measure_text_width, pad_str};

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text, which may be cut where a terminal is narrow.
    Left,
    /// Text that is of no use in part, such as an id.
    Whole,
    /// A number.
    Right,
}

/// What a column keeps of a cell at least where the terminal is too narrow for all.
const LEAST: usize = 8;

/// What stands between two columns.
const GAP: &str = "  ";

/// Columns with their headings, as wide as their widest cell. The last column is not filled up.
///
/// At a terminal that is too narrow, the widest columns of text are cut, so that a row stays on its line. Whoever reads
/// along in a pipe gets everything.
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
    /// The columns of the terminal, where there is one.
    room: Option<usize>,
}

impl<const N: usize> Table<N> {
    /// A table for standard output.
    pub(crate) fn new(columns: [(&'static str, Align); N]) -> Self {
        let terminal = Term::stdout();
        let room = terminal.size_checked().filter(|_| terminal.is_term());
        Self {
            columns,
            rows: Vec::new(),
            room: room.map(|(_, columns)| usize::from(columns)),
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
                *width = (*width).max(measure_text_width(cell));
            }
        }
        if let Some(room) = self.room {
            self.narrow(&mut widths, room);
        }
        widths
    }

    /// Takes from the widest columns of text what the terminal has no room for.
    fn narrow(&self, widths: &mut [usize; N], room: usize) {
        let gaps = GAP.len() * N.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            let texts = widths.iter_mut().zip(&self.columns);
            let widest = texts
                .filter(|(_, (_, align))| *align == Align::Left)
                .map(|(width, _)| width)
                .max_by_key(|width| **width);
            match widest {
                Some(width) if *width > LEAST => *width -= 1,
                _ => return,
            }
        }
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let headings = self.columns.map(|(heading, _)| heading.to_owned());
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (at, ((cell, width), (_, align))) in row.iter().zip(widths).zip(self.columns).enumerate() {
                if at > 0 {
                    line.push_str(GAP);
                }
                let side = match align {
                    Align::Left | Align::Whole => Alignment::Left,
                    Align::Right => Alignment::Right,
                };
                line.push_str(&filled(cell, width, side));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The text at this width on a terminal.
fn filled(text: &str, width: usize, side: Alignment) -> String {
    pad_str(text, width, side, Some("…")).into_owned()
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
    fn a_narrow_terminal_cuts_text_and_no_number() {
        let mut table = Table::new([("NAME", Align::Left), ("N", Align::Right), ("REST", Align::Left)]);
        table.row([
            "a short one".into(),
            "123456".into(),
            "a text that is much longer".into(),
        ]);
        table.room = Some(32);
        assert_eq!(
            table.to_string(),
            "NAME              N  REST\na short one  123456  a text tha…\n"
        );
        table.room = Some(1);
        assert_eq!(
            table.to_string(),
            "NAME           N  REST\na short…  123456  a text …\n"
        );
    }

    #[test]
    fn a_wide_letter_takes_two_columns() {
        let mut table = Table::new([("A", Align::Left), ("B", Align::Left)]);
        table.row(["世界".into(), "x".into()]);
        table.row(["abcd".into(), "y".into()]);
        assert_eq!(table.to_string(), "A     B\n世界  x\nabcd  y\n");
    }

    #[test]
    fn a_cell_holds_no_control_character() {
        assert_eq!((cut("äöü", 2).as_str(), cut("äöü", 3).as_str()), ("äö…", "äöü"));
        assert_eq!(one_line("a\nb\u{1b}[2J\t"), "a b [2J");
    }
}
