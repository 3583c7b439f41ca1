//! Rows that a person reads, in columns.

use std::{borrow::Cow, fmt};

use console::{Alignment, Term, measure_text_width, pad_str, truncate_str};

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
/// At a terminal that is too narrow, the widest columns of text are cut, then columns that can be spared are left out, so
/// that a row stays on its line. Whoever reads along in a pipe gets everything.
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
    /// The columns of the terminal, where there is one.
    room: Option<usize>,
    /// The columns that are left out where there is no room, by their headings: one group after the other.
    spare: &'static [&'static [&'static str]],
    left_out: Vec<&'static str>,
}

/// How a table is laid out: each column's width, and which are shown.
#[derive(Clone, Copy)]
struct Layout<const N: usize> {
    widths: [usize; N],
    shown: [bool; N],
}

impl<const N: usize> Table<N> {
    /// A table for standard output.
    pub(crate) fn new(columns: [(&'static str, Align); N]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            room: room(),
            spare: &[],
            left_out: Vec::new(),
        }
    }

    /// Adds a row. A cell is one line, and nothing in it reaches the terminal as a command.
    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| one_line(&cell)));
    }

    /// Leaves a column out, wherever the table is shown.
    pub(crate) fn leave_out(&mut self, heading: &'static str) {
        self.left_out.push(heading);
    }

    /// Says which columns can be spared where the terminal is too narrow, those that go together in one group.
    pub(crate) fn can_spare(&mut self, groups: &'static [&'static [&'static str]]) {
        self.spare = groups;
    }

    fn layout(&self) -> Layout<N> {
        let mut whole = Layout {
            widths: self.columns.map(|(heading, _)| heading.len()),
            shown: self.columns.map(|(heading, _)| !self.left_out.contains(&heading)),
        };
        for row in &self.rows {
            for (width, cell) in whole.widths.iter_mut().zip(row) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        let Some(room) = self.room else { return whole };
        let mut spare = self.spare.iter();
        loop {
            let narrowed = self.narrowed(whole, room);
            let Some(group) = spare.next().filter(|_| narrowed.width() > room) else {
                return narrowed;
            };
            for (shown, (heading, _)) in whole.shown.iter_mut().zip(&self.columns) {
                *shown &= !group.contains(heading);
            }
        }
    }

    /// Takes from the widest columns of text what the terminal has no room for.
    fn narrowed(&self, mut layout: Layout<N>, room: usize) -> Layout<N> {
        while layout.width() > room {
            let Layout { widths, shown } = &mut layout;
            let texts = widths.iter_mut().zip(shown).zip(&self.columns);
            let widest = texts
                .filter(|((_, shown), (_, align))| **shown && *align == Align::Left)
                .map(|((width, _), _)| width)
                .max_by_key(|width| **width);
            match widest {
                Some(width) if *width > LEAST => *width -= 1,
                _ => break,
            }
        }
        layout
    }
}

impl<const N: usize> Layout<N> {
    /// How wide a row is.
    fn width(&self) -> usize {
        let shown = self.widths.iter().zip(self.shown).filter(|(_, shown)| *shown);
        let (count, sum) = shown.fold((0, 0), |(count, sum), (width, _)| (count + 1, sum + width));
        sum + GAP.len() * usize::saturating_sub(count, 1)
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { widths, shown } = self.layout();
        let headings = self.columns.map(|(heading, _)| heading.to_owned());
        for row in std::iter::once(&headings).chain(&self.rows) {
            let cells = row.iter().zip(widths).zip(self.columns).zip(shown);
            let cells = cells
                .filter(|(_, shown)| *shown)
                .map(|(((cell, width), (_, align)), _)| {
                    let side = match align {
                        Align::Left | Align::Whole => Alignment::Left,
                        Align::Right => Alignment::Right,
                    };
                    filled(cell, width, side)
                });
            let line = cells.collect::<Vec<_>>().join(GAP);
            writeln!(f, "{}", fitted(line.trim_end(), self.room))?;
        }
        Ok(())
    }
}

/// The columns of the terminal that standard output is, if it is one.
pub(crate) fn room() -> Option<usize> {
    let terminal = Term::stdout();
    let size = terminal.size_checked().filter(|_| terminal.is_term());
    size.map(|(_, columns)| usize::from(columns))
}

/// The line, cut where there is only so much room.
pub(crate) fn fitted(line: &str, room: Option<usize>) -> Cow<'_, str> {
    match room {
        Some(room) => truncate_str(line, room, "…"),
        None => Cow::Borrowed(line),
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
        table.room = Some(26);
        assert_eq!(
            table.to_string(),
            "NAME           N  REST\na short…  123456  a text …\n"
        );
        table.room = Some(20);
        assert_eq!(table.to_string(), "NAME           N  R…\na short…  123456  a…\n");
    }

    #[test]
    fn what_can_be_spared_is_left_out_where_nothing_is_left_to_cut() {
        let mut table = Table::new([
            ("ID", Align::Whole),
            ("N", Align::Right),
            ("M", Align::Right),
            ("REST", Align::Left),
        ]);
        table.row(["0123456789".into(), "1".into(), "2".into(), "a longer text".into()]);
        table.can_spare(&[&["N", "M"], &["ID"]]);
        table.room = Some(26);
        assert_eq!(
            table.to_string(),
            "ID          N  M  REST\n0123456789  1  2  a longe…\n"
        );
        table.room = Some(25);
        assert_eq!(table.to_string(), "ID          REST\n0123456789  a longer text\n");
        table.room = Some(13);
        assert_eq!(table.to_string(), "REST\na longer text\n");
        table.room = None;
        table.leave_out("M");
        assert_eq!(table.to_string(), "ID          N  REST\n0123456789  1  a longer text\n");
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
