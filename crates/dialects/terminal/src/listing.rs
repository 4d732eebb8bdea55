//! Tables and times for people.

use crate::clean;

/// Left-aligned columns, two spaces apart; the last one is not padded.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| clean(cell).replace(['\n', '\t'], " ")).collect()).collect();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let width = |at: usize| {
        std::iter::once(&head).chain(&rows).filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..head.len()).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// `just now`, `5 min ago`, `3 days ago`; a date when it is long ago.
pub fn ago(at_ms: i64, now_ms: i64) -> String {
    let minutes = now_ms.saturating_sub(at_ms).max(0) / 60_000;
    let plural = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => plural(minutes / 60, "hour"),
        1440..43_200 => plural(minutes / 1440, "day"),
        _ => vocab::iso8601(at_ms).chars().take(10).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_a_person_would_say_them() {
        let minute = 60_000;
        let day = 24 * 60 * minute;
        let now = 1_700_000_000_000;
        for (age, said) in [
            (-5, "just now"),
            (30_000, "just now"),
            (minute, "1 min ago"),
            (60 * minute, "1 hour ago"),
            (47 * 60 * minute, "1 day ago"),
            (3 * day, "3 days ago"),
            (40 * day, "2023-10-05"),
        ] {
            assert_eq!(ago(now - age, now), said);
        }
    }

    #[test]
    fn columns_line_up_and_nothing_hangs_over() {
        let rows = vec![vec!["a".to_owned(), "long cell".to_owned()], vec!["bcd".to_owned(), "x\ny\x1b[2J".to_owned()]];
        assert_eq!(table(&["ID", "TEXT"], &rows), "ID   TEXT\na    long cell\nbcd  x y\n");
    }
}
