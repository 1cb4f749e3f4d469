//! Traces the instructions of chosen waves as text, with the registers that they read and write.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Sink;
use crate::exec::{self, Wave};
use crate::isa::{Register, Span};
use crate::machine::launch::Launch;
use crate::machine::observe::{DispatchObserver, GroupObserver, Instrument, LaneAccess, Step, Verdict};
use gpu_report::demangle;

/// The size at which a workgroup's text is written.
const CHUNK: usize = 64 << 10;

/// Which waves are traced.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Selection {
    /// A pattern for kernel names, in which `*` matches anything; none for all.
    kernel: Option<String>,
    /// The workgroup; a dimension without a number matches any.
    group: [Option<u32>; 3],
    wave: Option<u32>,
}

impl Selection {
    /// Reads `kernel=gemm*,group=0.0.0,wave=1,file=trace.txt`, or `all`. Returns the selection and the output
    /// file.
    pub(super) fn parse(text: &str) -> Result<(Selection, Option<PathBuf>), String> {
        let mut selection = Selection::default();
        let mut file = None;
        let mut given = Vec::new();
        for setting in text.split(',').map(str::trim).filter(|setting| *setting != "all") {
            let Some((key, value)) = setting.split_once('=') else {
                return Err(format!(
                    "`{setting}` is not a setting; expected all, kernel=NAME, group=X.Y.Z, wave=N or file=PATH"
                ));
            };
            let (key, value) = (key.trim(), value.trim());
            if value.is_empty() {
                return Err(format!("`{setting}` has no value"));
            }
            if given.contains(&key) {
                return Err(format!("`{key}` is given twice"));
            }
            given.push(key);
            let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
            match key {
                "kernel" => selection.kernel = Some(value.to_owned()),
                "wave" => selection.wave = Some(number(value)?),
                "file" => file = Some(PathBuf::from(value)),
                "group" => {
                    let parts: Vec<&str> = value.split('.').collect();
                    let [x, y, z] = parts[..] else {
                        return Err(format!(
                            "`{value}` is not a workgroup; expected one such as group=0.0.0 or group=3.*.*"
                        ));
                    };
                    for (place, part) in selection.group.iter_mut().zip([x, y, z]) {
                        *place = if part == "*" { None } else { Some(number(part)?) };
                    }
                }
                other => {
                    return Err(format!("`{other}` is not a setting; expected kernel, group, wave or file"));
                }
            }
        }
        Ok((selection, file))
    }

    fn has_kernel(&self, name: &str) -> bool {
        self.kernel.as_ref().is_none_or(|pattern| matches(pattern, name) || matches(pattern, &demangle(name)))
    }

    fn has_group(&self, id: [u32; 3]) -> bool {
        self.group.iter().zip(id).all(|(wanted, id)| wanted.is_none_or(|wanted| wanted == id))
    }
}

/// Whether a name matches a pattern; `*` matches anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).filter(|&i| name.is_char_boundary(i)).any(|i| matches(rest, &name[i..]))
        }),
    }
}

/// Traces chosen waves.
#[derive(Debug)]
pub(in crate::machine) struct Tracer {
    selection: Selection,
    sink: Arc<Sink>,
    dispatches: AtomicU64,
}

impl Tracer {
    pub(super) fn new(selection: Selection, sink: Sink) -> Tracer {
        Tracer { selection, sink: Arc::new(sink), dispatches: AtomicU64::new(0) }
    }
}

impl Instrument for Tracer {
    fn begin(&self, launch: &Launch) -> Option<Box<dyn DispatchObserver>> {
        if !self.selection.has_kernel(&launch.kernel.name) {
            return None;
        }
        let number = self.dispatches.fetch_add(1, Ordering::Relaxed);
        let ([gx, gy, gz], [wx, wy, wz]) = (launch.grid, launch.workgroup);
        self.sink.write(&format!(
            "dispatch {number}: {} ({}), grid {gx},{gy},{gz}, workgroups of {wx},{wy},{wz}, waves of {}\n",
            demangle(&launch.kernel.name),
            launch.code.target().name,
            launch.lanes
        ));
        Some(Box::new(Traced { number, selection: self.selection.clone(), sink: Arc::clone(&self.sink) }))
    }
}

/// One dispatch.
#[derive(Debug)]
struct Traced {
    number: u64,
    selection: Selection,
    sink: Arc<Sink>,
}

impl DispatchObserver for Traced {
    fn group(&self, launch: &Launch, id: [u32; 3], _: [u32; 3]) -> Option<Box<dyn GroupObserver>> {
        let [x, y, z] = id;
        self.selection.has_group(id).then(|| {
            Box::new(TracedGroup {
                prefix: format!("{} {x},{y},{z}", self.number),
                wave: self.selection.wave,
                base: launch.code.base(),
                isa: launch.isa,
                text: String::new(),
                sink: Arc::clone(&self.sink),
            }) as _
        })
    }
}

/// One workgroup.
struct TracedGroup {
    /// The numbers of the dispatch and the workgroup.
    prefix: String,
    wave: Option<u32>,
    /// The base address of the code object.
    base: u64,
    isa: crate::isa::Isa,
    text: String,
    sink: Arc<Sink>,
}

impl TracedGroup {
    /// Writes a line for each register, or for each tuple of scalar registers.
    fn registers(&mut self, what: &str, spans: &[Span], wave: &Wave) {
        for span in spans {
            let _ = match span.first {
                Register::Scc => writeln!(self.text, "    {what} scc={}", u8::from(wave.scc)),
                Register::Scalar(first) => {
                    let slots = (0..span.count).map(|i| wave.sgpr[usize::from(first.wrapping_add(i)) & 127]);
                    // As one number, with the highest dword first.
                    let digits =
                        slots.rev().map(|value| format!("{value:08x}")).collect::<Vec<_>>().join("_");
                    writeln!(self.text, "    {what} {span}=0x{digits}")
                }
                Register::Vector(_) => {
                    for register in span.registers() {
                        let Register::Vector(number) = register else { continue };
                        let name = Span { first: register, count: 1 };
                        // SAFETY: the wave runs the program that uses the register.
                        let lanes = unsafe { wave.vector(number) };
                        let _ = write!(self.text, "    {what} {name}=");
                        self.lanes(&lanes, wave);
                    }
                    Ok(())
                }
            };
        }
    }

    /// Writes the lanes that EXEC enables, in groups of eight, with dots for the others. A value that all
    /// lanes share is written once.
    fn lanes(&mut self, values: &[u32; 64], wave: &Wave) {
        let active = wave.active();
        let count = usize::from(wave.lanes);
        let mut enabled = (0..count).filter(|lane| active >> lane & 1 != 0).map(|lane| values[lane]);
        let first = enabled.next();
        if let Some(first) = first
            && enabled.all(|value| value == first)
        {
            let _ = writeln!(self.text, "0x{first:08x} in all active lanes");
            return;
        }
        for (lane, value) in values[..count].iter().enumerate() {
            if lane != 0 {
                self.text.push_str(if lane % 8 == 0 { "\n        " } else { " " });
            }
            let _ = match active >> lane & 1 {
                0 => write!(self.text, "........"),
                _ => write!(self.text, "{value:08x}"),
            };
        }
        self.text.push('\n');
    }

    fn access(&mut self, access: &LaneAccess) {
        let LaneAccess { kind, bytes, space, .. } = access;
        let what = if access.scalar { "" } else { " per lane" };
        let _ = write!(self.text, "    {kind} of {bytes} bytes{what}, {space} at");
        for (i, (_, address)) in access.lanes().enumerate() {
            let separator = if i != 0 && i % 8 == 0 { "\n        " } else { " " };
            let _ = write!(self.text, "{separator}0x{address:x}");
        }
        self.text.push('\n');
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.sink.write(&self.text);
            self.text.clear();
        }
    }

    fn is_chosen(&self, step: &Step<'_>) -> bool {
        self.wave.is_none_or(|wave| wave == step.wave)
    }
}

impl GroupObserver for TracedGroup {
    fn before(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        if !self.is_chosen(step) {
            return Ok(());
        }
        if self.text.len() > CHUNK {
            self.flush();
        }
        let text = exec::text(step.inst, self.isa, wave.lanes);
        let pc = step.address.wrapping_sub(self.base);
        let _ = writeln!(self.text, "{} w{} 0x{pc:x}: {text}", self.prefix, step.wave);
        self.registers("reads", &step.registers.read, wave);
        for access in step.accesses.iter() {
            self.access(access);
        }
        Ok(())
    }

    fn after(&mut self, step: &Step<'_>, wave: &Wave) -> Verdict {
        if self.is_chosen(step) {
            self.registers("writes", &step.registers.written, wave);
        }
        Ok(())
    }

    fn end(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("gemm", "gemm", true),
            ("gemm", "gemm_f32", false),
            ("gemm*", "gemm_f32", true),
            ("*f32", "gemm_f32", true),
            ("g*_*2", "gemm_f32", true),
            ("*", "", true),
            ("*x*", "gemm", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        let (selection, _) = Selection::parse("kernel=add*,group=1.*.2").unwrap();
        assert!(selection.has_kernel("_Z3addPfS_i") && !selection.has_kernel("_Z3subPf"));
        assert!(selection.has_group([1, 7, 2]) && !selection.has_group([1, 7, 3]));
    }
}
