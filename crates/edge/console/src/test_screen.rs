//! A screen for tests, as high as it has to be: what a person would see of what was written.

use unicode_width::UnicodeWidthChar;

pub(crate) struct TestScreen {
    cols: usize,
    rows: Vec<Vec<String>>,
    row: usize,
    col: usize,
}

impl TestScreen {
    pub(crate) fn new(cols: usize) -> Self {
        Self { cols, rows: vec![Vec::new()], row: 0, col: 0 }
    }

    pub(crate) fn col(&self) -> usize {
        self.col
    }

    pub(crate) fn row(&self) -> usize {
        self.row
    }

    /// The window becomes narrower: long rows are broken, and the cursor stays at its letter.
    pub(crate) fn narrows(&mut self, cols: usize) {
        let (mut rows, mut cursor) = (Vec::new(), 0);
        for (at, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if at == self.row {
                cursor = rows.len() + self.col / cols;
            }
            match row.is_empty() {
                true => rows.push(row),
                false => rows.extend(row.chunks(cols).map(<[String]>::to_vec)),
            }
        }
        rows.resize(rows.len().max(cursor + 1), Vec::new());
        (self.rows, self.row, self.col, self.cols) = (rows, cursor, self.col % cols, cols);
    }

    pub(crate) fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| row.concat().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    pub(crate) fn write(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\x1b' => self.escape(&mut chars),
                '\n' => self.down(),
                '\r' => self.col = 0,
                c => self.put(c),
            }
        }
    }

    fn escape(&mut self, chars: &mut std::str::Chars<'_>) {
        assert_eq!(chars.next(), Some('['), "an escape sequence that nobody here writes");
        let mut number = String::new();
        let end = loop {
            match chars.next().expect("a whole escape sequence") {
                c if c.is_ascii_alphabetic() => break c,
                c => number.push(c),
            }
        };
        let count: usize = number.parse().unwrap_or(1);
        match end {
            'A' => self.row = self.row.checked_sub(count).expect("not above the first row"),
            'G' => self.col = count - 1,
            'K' => self.cut_row(),
            'J' => {
                self.cut_row();
                self.rows.truncate(self.row + 1);
            }
            'm' => {}
            // Modes, such as that of pastes.
            'h' | 'l' if number.starts_with('?') => {}
            other => panic!("an escape sequence that nobody here writes: {number}{other}"),
        }
    }

    fn cut_row(&mut self) {
        let col = self.col.min(self.cols - 1);
        self.rows[self.row].truncate(col);
    }

    fn down(&mut self) {
        self.row += 1;
        self.col = 0;
        if self.rows.len() == self.row {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, c: char) {
        let width = c.width().unwrap_or(0);
        let row = &mut self.rows[self.row];
        if width == 0 {
            if let Some(cell) = row.get_mut(self.col.saturating_sub(1)) {
                cell.push(c);
            }
            return;
        }
        if self.col + width > self.cols {
            self.down();
        }
        let row = &mut self.rows[self.row];
        if row.len() < self.col + width {
            row.resize(self.col + width, " ".to_owned());
        }
        row[self.col] = c.to_string();
        (1..width).for_each(|at| row[self.col + at] = String::new());
        self.col += width;
    }
}
