//! `FERROCM_VGPU_TRACE` and `FERROCM_VGPU_COUNTERS`.

use std::path::PathBuf;
use std::sync::Arc;

use super::trace::Selection;
use super::{Profiler, Sink, Tracer};
use gpu_report::CounterFormat;
use variables::{VGPU_COUNTERS as COUNTERS, VGPU_TRACE as TRACE, Variable};

use crate::config::ConfigError;
use crate::machine::observe::Instrument;

/// What the environment requests.
#[derive(Default, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Settings {
    trace: Option<(Selection, Option<PathBuf>)>,
    counters: Option<(CounterFormat, Option<PathBuf>)>,
}

impl Settings {
    /// Reads the variables, each of which may be unset or empty.
    ///
    /// # Errors
    /// A value is invalid.
    pub(in crate::machine) fn from_environment() -> Result<Settings, ConfigError> {
        Settings::of(TRACE.text()?, COUNTERS.text()?)
    }

    fn of(trace: Option<String>, count: Option<String>) -> Result<Settings, ConfigError> {
        let trace = trace.map(|text| Selection::parse(&text).map_err(|why| TRACE.error(&text, why)));
        let count = count.map(|text| counters(&text).map_err(|why| COUNTERS.error(&text, why)));
        Ok(Settings { trace: trace.transpose()?, counters: count.transpose()? })
    }

    /// Switches on what was requested.
    ///
    /// # Errors
    /// A file cannot be created.
    pub(in crate::machine) fn apply(
        self,
        instruments: &mut Vec<Arc<dyn Instrument>>,
    ) -> Result<(), ConfigError> {
        let sink = |variable: Variable, path: Option<PathBuf>| match path {
            None => Ok(Sink::default()),
            Some(path) => Sink::create(&path).map_err(|error| {
                variable.error(&path.to_string_lossy(), format!("the file cannot be created: {error}"))
            }),
        };
        if let Some((selection, path)) = self.trace {
            instruments.push(Arc::new(Tracer::new(selection, sink(TRACE, path)?)));
        }
        if let Some((format, path)) = self.counters {
            instruments.push(Arc::new(Profiler::writing(format, sink(COUNTERS, path)?)));
        }
        Ok(())
    }
}

/// The format, `table` or `json`, and the destination: `json:counters.json`.
fn counters(text: &str) -> Result<(CounterFormat, Option<PathBuf>), String> {
    let (format, file) = match text.split_once(':') {
        Some((format, file)) => (format, Some(file)),
        None => (text, None),
    };
    let format = format.parse().map_err(|error| format!("{error}, as in json:FILE"))?;
    match file {
        Some("") => Err("missing file name after the colon".to_owned()),
        file => Ok((format, file.map(PathBuf::from))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variable: Variable, value: &str) -> Result<Settings, String> {
        let text = |of: &Variable| if *of == variable { of.text_of(Some(value)).unwrap() } else { None };
        Settings::of(text(&TRACE), text(&COUNTERS)).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_say_what_is_wrong_with_them() {
        for (name, value, expected) in [
            (COUNTERS, "csv", "`csv` is not a format"),
            (COUNTERS, "json:", "missing file name after the colon"),
            (TRACE, "kernel", "`kernel` is not a setting"),
            (TRACE, "warp=1", "`warp`"),
            (TRACE, "wave=x", "`x` is not a number"),
            (TRACE, "group=1.2", "`1.2` is not a workgroup"),
            (TRACE, "wave=1,wave=2", "`wave` is given twice"),
            (TRACE, "file=", "`file=`"),
        ] {
            let error = read(name, value).unwrap_err();
            assert!(error.contains(expected) && error.contains(name.name), "{value}: {error}");
        }
    }

    #[test]
    fn variables_are_read() {
        assert_eq!(read(COUNTERS, " "), Ok(Settings::default()));
        assert_eq!(read(COUNTERS, "table").unwrap().counters, Some((CounterFormat::Table, None)));
        assert_eq!(
            read(COUNTERS, "json:a:b").unwrap().counters,
            Some((CounterFormat::Json, Some("a:b".into())))
        );
        let (selection, file) = read(TRACE, "all").unwrap().trace.unwrap();
        assert!(file.is_none() && selection == Selection::default());
        let (_, file) = read(TRACE, "kernel=gemm*,group=0.*.0,wave=1,file=t.txt").unwrap().trace.unwrap();
        assert_eq!(file, Some("t.txt".into()));
    }

    #[test]
    fn a_file_that_cannot_be_created_is_named() {
        let settings = read(COUNTERS, "json:/nowhere/at/all").unwrap();
        let error = settings.apply(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(COUNTERS.name) && error.contains("/nowhere/at/all"), "{error}");
    }
}
