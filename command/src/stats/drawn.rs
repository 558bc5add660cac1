//! Bars and lines of characters, for a terminal.

/// Cells of a bar, and the most of a line.
const BAR: usize = 18;
pub const LINE: usize = 56;
/// The characters before a line and after it.
const AROUND: usize = 34;
/// The least width that has room for bars beside their figures.
const WITH_BARS: usize = 79;

/// The columns and rows of the terminal.
#[derive(Debug, Clone, Copy)]
pub struct TerminalSize {
    pub width: usize,
    pub height: usize,
}

impl TerminalSize {
    /// The present size, which the user may change. A terminal that does not report one has room for all.
    pub fn now() -> Self {
        let size = terminal_size::terminal_size();
        let (width, height) = size.map_or((usize::MAX, usize::MAX), |(w, h)| (w.0.into(), h.0.into()));
        Self { width, height }
    }

    /// Whether bars fit beside their figures.
    pub fn has_bars(self) -> bool {
        self.width >= WITH_BARS
    }

    /// How many cells a line may have.
    pub fn cells(self) -> usize {
        self.width.saturating_sub(AROUND).clamp(8, LINE)
    }

    /// The lines as rows that fit: a row that the terminal itself broke, or a page that it scrolled, would leave pieces of itself
    /// behind. The cursor has the last row.
    pub fn rows(self, text: &str) -> Vec<String> {
        let mut rows: Vec<_> = text.lines().flat_map(|line| self.broken(line)).collect();
        rows.truncate(self.height.saturating_sub(1).max(1));
        rows
    }

    /// Breaks a line that is too long, after a blank if it has one.
    fn broken(self, line: &str) -> Vec<String> {
        const INDENT: &str = "          ";

        let mut rows = Vec::new();
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > self.width.max(2 * INDENT.len()) {
            let row = &rest[..self.width.max(2 * INDENT.len())];
            let blank = row.iter().rposition(|c| *c == ' ').filter(|at| *at > INDENT.len());
            let end = blank.unwrap_or(row.len());
            rows.push(row[..end].iter().collect());
            let more = rest[end..].iter().skip_while(|c| **c == ' ');
            rest = INDENT.chars().chain(more.copied()).collect();
        }
        rows.push(rest.into_iter().collect());
        rows
    }
}

/// The characters to draw with: whole cells, then the parts of one, from the least on; and the heights of a line.
pub struct Pens {
    parts: &'static [char],
    heights: &'static [char],
}

impl Pens {
    const BLOCKS: Self = Self {
        parts: &['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
        heights: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    };
    pub const PLAIN: Self = Self { parts: &['#'], heights: &['_', '.', '-', '=', '*', '#'] };

    /// The characters that the terminal can show, by its environment.
    pub fn of_environment() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale =
            set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default().to_lowercase();
        if cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8") { Self::BLOCKS } else { Self::PLAIN }
    }

    /// A bar of the length of `value` relative to `most`; a value above 0 is always visible.
    pub fn bar(&self, value: i64, most: i64) -> String {
        let (value, most) = (i128::from(value.max(0)), i128::from(most.max(1)));
        let steps = i128::try_from(self.parts.len()).unwrap_or(1);
        let filled = value.min(most) * BAR as i128 * steps / most;
        let filled = if value > 0 { filled.max(1) } else { 0 };
        let whole = usize::try_from(filled / steps).unwrap_or(BAR);
        let mut bar: String = self.parts.last().into_iter().cycle().take(whole).collect();
        if let Some(rest) = usize::try_from(filled % steps).ok().filter(|rest| *rest > 0) {
            bar.extend(self.parts.get(rest - 1));
        }
        bar
    }

    /// The newest values as a line of so many cells, from 0 to the highest of them.
    pub fn line(&self, values: &[f64], cells: usize) -> String {
        let values = &values[values.len().saturating_sub(cells)..];
        let most = values.iter().copied().fold(0.0, f64::max);
        let top = self.heights.len() - 1;
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 8 heights"
        )]
        let height = |value: f64| if most > 0.0 { (value / most * top as f64).round() as usize } else { 0 };
        values.iter().filter_map(|value| self.heights.get(height(value.max(0.0)).min(top))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        for (value, bar) in [
            (0, ""),
            (1, "▏"),
            (500, "█████████"),
            (1000, "██████████████████"),
            (-5, ""),
            (2000, "██████████████████"),
        ] {
            assert_eq!(Pens::BLOCKS.bar(value, 1000), bar, "{value}");
        }
        assert_eq!(Pens::BLOCKS.bar(0, 0), "");
        assert_eq!(Pens::PLAIN.bar(1, 1_000_000), "#");
        assert_eq!(Pens::PLAIN.bar(i64::MAX, i64::MAX).len(), BAR);
    }

    #[test]
    fn lines_go_from_nothing_to_the_highest() {
        assert_eq!(Pens::BLOCKS.line(&[], LINE), "");
        assert_eq!(Pens::BLOCKS.line(&[0.0, 0.0], LINE), "▁▁");
        assert_eq!(Pens::BLOCKS.line(&[0.0, 7.0, 3.5, -1.0], LINE), "▁█▅▁");
        assert_eq!(Pens::PLAIN.line(&vec![1.0; 500], LINE).len(), LINE);
        assert_eq!(Pens::BLOCKS.line(&[9.0, 1.0, 2.0], 2), "▅█", "the newest");
    }

    #[test]
    fn wide_lines_are_broken_and_high_pages_are_cut() {
        let room = |width, height| TerminalSize { width, height };
        let long = "  workers 3 busy, 6 needed   (90 arrivals in the last hour)";
        let rows = room(40, 24).rows(long);
        assert_eq!(rows, ["  workers 3 busy, 6 needed   (90", "          arrivals in the last hour)"]);
        assert_eq!(room(usize::MAX, usize::MAX).rows(long), [long]);
        let word = "x".repeat(95);
        let rows = room(40, 24).rows(&word);
        assert_eq!(rows.iter().map(String::len).collect::<Vec<_>>(), [40, 40, 35]);
        assert_eq!(room(80, 3).rows("a\nb\nc\nd"), ["a", "b"]);
        assert_eq!(room(1, 1).rows("a\nb"), ["a"], "whatever a terminal says of itself");
        assert_eq!([room(80, 24).cells(), room(20, 24).cells(), room(500, 24).cells()], [46, 8, LINE]);
        assert!(room(80, 24).has_bars() && !room(72, 24).has_bars());
    }
}
