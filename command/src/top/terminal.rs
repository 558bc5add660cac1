//! The terminal: its own screen while we draw, and as it was afterwards, whatever ends us.

use super::screen::{Line, Tone};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{cursor, execute, queue};
use std::io::{self, Stdout, Write, stdout};
use std::time::Duration;

/// A key that means something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Up,
    Down,
    Enter,
    Back,
    PageUp,
    PageDown,
    Char(char),
}

pub struct Terminal {
    out: Stdout,
    /// Whether the user wants colours: https://no-color.org
    has_colors: bool,
}

impl Terminal {
    pub fn open() -> Result<Self> {
        let has_colors = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        enable_raw_mode().map_err(|error| broken(&error))?;
        // From here on a drop puts everything back.
        let mut terminal = Self { out: stdout(), has_colors };
        execute!(terminal.out, EnterAlternateScreen, DisableLineWrap, cursor::Hide).map_err(|error| broken(&error))?;
        Ok(terminal)
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        // A terminal that does not know its size says 0.
        let known = size().ok().filter(|(width, height)| *width > 0 && *height > 0);
        known.map_or((80, 24), |(width, height)| (width.into(), height.into()))
    }

    pub fn draw(&mut self, lines: &[Line]) -> Result<()> {
        self.put(lines).map_err(|error| broken(&error))
    }

    fn put(&mut self, lines: &[Line]) -> io::Result<()> {
        queue!(self.out, BeginSynchronizedUpdate, cursor::MoveTo(0, 0))?;
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                queue!(self.out, Print("\r\n"))?;
            }
            if line.is_selected {
                queue!(self.out, SetAttribute(Attribute::Reverse))?;
            }
            match line.tone {
                Tone::Bold => queue!(self.out, SetAttribute(Attribute::Bold))?,
                Tone::Bad if self.has_colors => queue!(self.out, SetForegroundColor(Color::Red))?,
                Tone::Good if self.has_colors => queue!(self.out, SetForegroundColor(Color::Green))?,
                Tone::Quiet => queue!(self.out, SetAttribute(Attribute::Dim))?,
                Tone::Bad | Tone::Good | Tone::Plain => {}
            }
            queue!(self.out, Print(&line.text), SetAttribute(Attribute::Reset), ResetColor)?;
            queue!(self.out, Clear(ClearType::UntilNewLine))?;
        }
        queue!(self.out, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        self.out.flush()
    }

    /// The next key within so long.
    pub fn key(&mut self, within: Duration) -> Result<Option<Key>> {
        let next = || -> io::Result<Option<Key>> {
            if !poll(within)? {
                return Ok(None);
            }
            let Event::Key(key) = read()? else { return Ok(None) };
            if key.kind == KeyEventKind::Release {
                return Ok(None);
            }
            // A terminal in raw mode sends no signal for it.
            if key.modifiers.contains(KeyModifiers::CONTROL) {
                return Ok((key.code == KeyCode::Char('c')).then_some(Key::Char('q')));
            }
            Ok(match key.code {
                KeyCode::Up => Some(Key::Up),
                KeyCode::Down => Some(Key::Down),
                KeyCode::PageUp => Some(Key::PageUp),
                KeyCode::PageDown | KeyCode::Char(' ') => Some(Key::PageDown),
                KeyCode::Enter | KeyCode::Right => Some(Key::Enter),
                KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => Some(Key::Back),
                KeyCode::Char('k') => Some(Key::Up),
                KeyCode::Char('j') => Some(Key::Down),
                KeyCode::Char(c) => Some(Key::Char(c)),
                _ => None,
            })
        };
        next().map_err(|error| broken(&error))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Makes the terminal as it was.
fn restore() {
    // Nothing is left to do about a terminal that is gone.
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), EnableLineWrap, LeaveAlternateScreen, cursor::Show);
}

/// The same before the process ends at once. A terminal that takes no more output keeps nobody.
pub fn restore_at_once() {
    let (tell, done) = std::sync::mpsc::channel();
    let restores = move || {
        restore();
        let _ = tell.send(());
    };
    if std::thread::Builder::new().spawn(restores).is_ok() {
        let _ = done.recv_timeout(Duration::from_millis(500));
    }
}

fn broken(error: &io::Error) -> Failure {
    Failure::Partly(format!("the terminal cannot be used: {error}"), Exit::Unavailable)
}
