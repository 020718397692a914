//! Columns that line up.

use anstyle::Style;

use super::Colors;

/// The rows with every column as wide as its widest cell; the first row is the heading.
pub fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]], colors: Colors) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        let line = line.trim_end();
        match index {
            0 => text.push_str(&colors.paint(Style::new().dimmed(), line)),
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Colors, table};

    #[test]
    fn columns_line_up_and_lines_end_with_their_text() {
        let rows = [["step", "traffic"], ["1", "20%"], ["finish", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows, Colors::Never), "step    traffic\n1       20%\nfinish\n");
    }
}
