//! Bars and spinners on a terminal; a line of text elsewhere.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Prints a line to standard output. That nobody reads it any more is no reason to stop what it tells of.
pub(crate) fn say_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line, as `println!` does, but never panics.
macro_rules! say {
    ($($text:tt)*) => { $crate::progress::say_line(format_args!($($text)*)) };
}

/// A bar on a terminal; elsewhere the heading alone.
pub fn bar(length: u64, heading: &'static str, numbers: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        say!("{heading} …");
        return ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template(&format!("{{msg:12}} {{wide_bar}} {numbers}"));
    let bar = ProgressBar::new(length).with_message(heading);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A spinner on a terminal; elsewhere the heading alone.
pub fn spinner(heading: impl Into<std::borrow::Cow<'static, str>>) -> ProgressBar {
    let heading = heading.into();
    if !io::stderr().is_terminal() {
        say!("{heading} …");
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(heading);
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
}
