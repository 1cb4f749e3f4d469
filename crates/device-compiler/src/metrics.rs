//! A pass over optimised IR that makes kernels count what they do: work-items, waves, bytes and cycles.
//!
//! It works on the text between the two steps of [`Compilation`](crate::facts::Compilation), after the
//! optimiser and before code generation. So it counts the optimised code, and counting prevents no
//! optimisation.
//!
//! - Each block that accesses memory, and the first block of each function, adds one per work-item to its own
//!   counter. LLVM's pass for atomic additions turns this into one addition per wave. The sizes of the
//!   accesses are constants of the block and stored in the [`Table`]: the reader of the counters multiplies.
//! - Each wave of a kernel reads the clocks at its begin, and adds the differences at its end.
//!
//! Loads added by the code generator, such as those of spilled registers and arguments, are not counted.
//! Neither are accesses by inline assembly and image instructions.

mod access;
mod sizes;

use std::collections::BTreeMap;
use std::fmt::Write;

use code_object::metrics::{Access, COUNTERS, Function, Space, TABLE, Table, Traffic, Waves};

use crate::Error;
use crate::ir::{Head, text};
use access::Bytes;
use sizes::Types;

/// Changes when the pass gives a different result for the same code.
pub(crate) const SCHEME: &str = "kernel metrics 1";

/// The bits of the shader clock on gfx11, so few that a wave may outlast it.
const SHORT_CLOCK_BITS: u32 = 20;
/// Ticks of the constant 100 MHz clock within which the short shader clock does not wrap around, at up to 4
/// GHz.
const SHORT_CLOCK_TICKS: u64 = (1 << SHORT_CLOCK_BITS) / 40;

/// The module with counters. A module without functions is unchanged.
pub(crate) fn count(module: &str, target: &str) -> Result<String, Error> {
    let mut pass = Pass {
        types: Types::of(module),
        short_clock: target.starts_with("gfx11"),
        counters: 0,
        functions: Vec::new(),
        out: String::with_capacity(module.len() * 2),
    };
    // Orders of uses apply to the code without counters.
    let mut lines = module.lines().filter(|line| !line.trim_start().starts_with("uselistorder"));
    while let Some(line) = lines.next() {
        if line.starts_with("attributes #") {
            pass.line(&without_memory(line));
            continue;
        }
        pass.line(line);
        if line.starts_with("define ") && line.ends_with('{') {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            pass.function(line, &body);
            pass.line("}");
        }
    }
    pass.finish()
}

struct Pass<'a> {
    types: Types<'a>,
    short_clock: bool,
    counters: u32,
    functions: Vec<Function>,
    out: String,
}

impl Pass<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn counter(&mut self) -> u32 {
        self.counters += 1;
        self.counters - 1
    }

    /// Adds a value to a counter, for each work-item that reaches this point.
    fn add(&mut self, counter: u32, value: &str) {
        let offset = u64::from(counter) * 8;
        // Writing to a text cannot fail.
        let _ = writeln!(
            self.out,
            "  %ferrocm.{}.{} = atomicrmw add ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) \
             @{COUNTERS}, i64 {offset}), i64 {value} syncscope(\"agent\") monotonic, align 8",
            self.functions.len(),
            self.out.len(),
        );
    }

    /// The body of a function, with counters.
    fn function(&mut self, head: &str, body: &[&str]) {
        let (Some(name), Some(parsed)) = (name(head), Head::of(head)) else {
            body.iter().for_each(|line| self.line(line));
            return;
        };
        let is_kernel = parsed.before.split(' ').any(|word| word == "amdgpu_kernel");
        let waves = is_kernel.then(|| Waves {
            count: self.counter(),
            cycles: self.counter(),
            ticks: self.counter(),
            too_long: self.short_clock.then(|| self.counter()),
        });
        let work_items = self.counter();
        let mut traffic = Vec::new();
        let mut blocks = blocks(body).into_iter();
        // The first block has no label and no predecessors.
        let first = blocks.next().unwrap_or_default();
        self.block(first, Some(work_items), waves, &mut traffic);
        for block in blocks {
            self.block(block, None, waves, &mut traffic);
        }
        self.functions.push(Function { name, waves, work_items, traffic });
    }

    /// A block, with a counter if it accesses memory or is the first one.
    fn block(
        &mut self,
        lines: &[&str],
        first: Option<u32>,
        waves: Option<Waves>,
        traffic: &mut Vec<Traffic>,
    ) {
        let mut sums: BTreeMap<(Space, Access), u64> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            for accessed in access::of(line, &self.types) {
                match accessed.bytes {
                    Bytes::Known(bytes) => {
                        *sums.entry((accessed.space, accessed.access)).or_default() += bytes
                    }
                    Bytes::Value(ty, value) => lengths.push((at, accessed.space, accessed.access, ty, value)),
                }
            }
        }
        // The counter must follow the label and the phis of a block.
        let begin =
            lines.iter().position(|line| !is_label(line) && !line.contains(" = phi ") && !line.is_empty());
        let begin = begin.unwrap_or(lines.len());
        for (at, line) in lines.iter().enumerate() {
            if at == begin {
                let counter = first.or_else(|| (!sums.is_empty()).then(|| self.counter()));
                if let Some(counter) = counter {
                    self.add(counter, "1");
                    let row = |((space, access), bytes): (&(Space, Access), &u64)| Traffic {
                        space: *space,
                        access: *access,
                        bytes: *bytes,
                        counter,
                    };
                    traffic.extend(sums.iter().map(row));
                }
                if first.is_some() && waves.is_some() {
                    self.begin();
                }
            }
            for (_, space, access, ty, value) in lengths.iter().filter(|length| length.0 == at) {
                let counter = self.counter();
                let value = self.extended(ty, value);
                self.add(counter, &value);
                traffic.push(Traffic { space: *space, access: *access, bytes: 1, counter });
            }
            if let Some(waves) = waves.filter(|_| is_end(line)) {
                self.end(waves);
            }
            self.line(line);
        }
    }

    /// A length as 64 bits.
    fn extended(&mut self, ty: &str, value: &str) -> String {
        if ty == "i64" {
            return value.to_owned();
        }
        let name = format!("%ferrocm.{}.{}", self.functions.len(), self.out.len());
        self.line(&format!("  {name} = zext {ty} {value} to i64"));
        name
    }

    /// Reads the clocks at the start of a kernel, and selects the work-item that adds for its wave: the
    /// first, which every wave has.
    fn begin(&mut self) {
        for line in [
            "  %ferrocm.low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)",
            "  %ferrocm.lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %ferrocm.low)",
            "  %ferrocm.speaks = icmp eq i32 %ferrocm.lane, 0",
            "  %ferrocm.begin.cycles = call i64 @llvm.readcyclecounter()",
            "  %ferrocm.begin.ticks = call i64 @llvm.readsteadycounter()",
        ] {
            self.line(line);
        }
    }

    /// Before the end of a kernel, the wave's selected work-item adds the elapsed time.
    fn end(&mut self, waves: Waves) {
        let end = self.out.len();
        self.line(&format!("  br i1 %ferrocm.speaks, label %ferrocm.sum.{end}, label %ferrocm.end.{end}"));
        self.line(&format!("\nferrocm.sum.{end}:"));
        for (what, clock) in [("cycles", "readcyclecounter"), ("ticks", "readsteadycounter")] {
            let name = format!("%ferrocm.{what}.{end}");
            self.line(&format!("  {name}.now = call i64 @llvm.{clock}()"));
            self.line(&format!("  {name}.all = sub i64 {name}.now, %ferrocm.begin.{what}"));
            let mask =
                if what == "cycles" && self.short_clock { (1 << SHORT_CLOCK_BITS) - 1 } else { -1_i64 };
            self.line(&format!("  {name} = and i64 {name}.all, {mask}"));
        }
        self.add(waves.count, "1");
        self.add(waves.cycles, &format!("%ferrocm.cycles.{end}"));
        self.add(waves.ticks, &format!("%ferrocm.ticks.{end}"));
        if let Some(counter) = waves.too_long {
            let name = format!("%ferrocm.long.{end}");
            self.line(&format!("  {name}.is = icmp uge i64 %ferrocm.ticks.{end}, {SHORT_CLOCK_TICKS}"));
            self.line(&format!("  {name} = zext i1 {name}.is to i64"));
            self.add(counter, &name);
        }
        self.line(&format!("  br label %ferrocm.end.{end}"));
        self.line(&format!("\nferrocm.end.{end}:"));
    }

    /// The module with the variables of its counters.
    fn finish(mut self) -> Result<String, Error> {
        if self.functions.is_empty() {
            return Ok(self.out);
        }
        let table = Table::new(std::mem::take(&mut self.functions));
        let table = table.to_bytes().map_err(|error| Error::Metrics { reason: error.to_string() })?;
        let bytes: String = table.iter().map(|byte| format!("\\{byte:02X}")).collect();
        let (count, length) = (self.counters, table.len());
        self.line(&format!(
            "@{COUNTERS} = protected addrspace(1) externally_initialized global [{count} x i64] zeroinitializer, align 8"
        ));
        self.line(&format!(
            "@{TABLE} = protected addrspace(4) constant [{length} x i8] c\"{bytes}\", align 1"
        ));
        for (result, declared) in [
            ("i64", "readcyclecounter()"),
            ("i64", "readsteadycounter()"),
            ("i32", "amdgcn.mbcnt.lo(i32, i32)"),
            ("i32", "amdgcn.mbcnt.hi(i32, i32)"),
        ] {
            let name = declared.split('(').next().unwrap_or(declared);
            let is_declared = self
                .out
                .lines()
                .any(|line| line.starts_with("declare ") && line.contains(&format!("@llvm.{name}(")));
            if !is_declared {
                self.line(&format!("declare {result} @llvm.{declared}"));
            }
        }
        Ok(self.out)
    }
}

/// The symbol of a function that is defined in this line.
fn name(define: &str) -> Option<String> {
    let rest = define.split_once(" @").map(|(_, rest)| rest)?;
    match rest.strip_prefix('"') {
        Some(quoted) => text(&rest[..quoted.find('"')? + 2]),
        None => Some(rest[..rest.find('(')?].to_owned()),
    }
}

/// The blocks of a function's body, each with its label.
fn blocks<'a, 'b>(body: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut blocks = Vec::new();
    let mut begin = 0;
    for (at, line) in body.iter().enumerate() {
        if is_label(line) && at > 0 {
            blocks.push(&body[begin..at]);
            begin = at;
        }
    }
    blocks.push(&body[begin..]);
    blocks
}

/// Instructions are indented, labels are not.
fn is_label(line: &str) -> bool {
    !line.is_empty() && !line.starts_with([' ', '\t', ';', '#'])
}

/// Whether an instruction ends a kernel's work-items.
fn is_end(line: &str) -> bool {
    let line = line.trim_start();
    line == "ret void" || line.starts_with("ret void,") || line.contains("@llvm.amdgcn.endpgm(")
}

/// A group of attributes without those that counting invalidates: that a function does not access memory, and
/// that it does not synchronise. LLVM knows these facts for its own functions anyway.
fn without_memory(line: &str) -> String {
    let memory =
        line.split_once(" memory(").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
    let line = memory.map_or_else(|| line.to_owned(), |(before, after)| format!("{before}{after}"));
    let words = line.split(' ').filter(|word| !matches!(*word, "nosync" | "speculatable"));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Like clang's output: a kernel with a loop and two ends, and a function that only reads.
    const MODULE: &str = "\
@c = addrspace(4) constant i32 1

define protected amdgpu_kernel void @k(ptr addrspace(1) %0, i32 %1) #0 {
  %3 = icmp eq i32 %1, 0
  br i1 %3, label %8, label %4

4:                                                ; preds = %4, %2
  %5 = phi i32 [ 0, %2 ], [ %6, %4 ]
  %6 = add i32 %5, 1
  store i32 %6, ptr addrspace(1) %0, align 4
  %7 = icmp eq i32 %6, %1
  br i1 %7, label %8, label %4

8:                                                ; preds = %4, %2
  ret void

; uselistorder directives
  uselistorder i32 %1, { 1, 0 }
}

define internal i32 @\"f(x)\"(ptr addrspace(4) %0) #1 {
  %2 = load i32, ptr addrspace(4) %0, align 4
  ret i32 %2
}

declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32) #1

attributes #0 = { nosync nounwind \"amdgpu-flat-work-group-size\"=\"1,1024\" }
attributes #1 = { nounwind memory(argmem: read, inaccessiblemem: none) \"x\"=\"a b\" }
";

    #[test]
    fn counters_stand_where_blocks_begin_and_kernels_end() {
        let counted = count(MODULE, "gfx90a").unwrap();
        let lines: Vec<&str> = counted.lines().map(str::trim).collect();
        let at = |what: &str| {
            lines.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}"))
        };
        // Kernel: waves, cycles, ticks, work-items, the loop; then the function's calls, which are its loads.
        assert!(counted.contains("[6 x i64] zeroinitializer"));
        assert!(lines[at("define protected amdgpu_kernel") + 1].contains("i64 24), i64 1 syncscope"));
        assert!(lines[at("= phi i32") + 1].contains("i64 32), i64 1 syncscope"));
        assert!(lines[at("define internal") + 1].contains("i64 40), i64 1 syncscope"));
        assert!(lines[at("ferrocm.end.")..].contains(&"ret void"));
        assert_eq!(lines.iter().filter(|line| line.starts_with("br i1 %ferrocm.speaks")).count(), 1);
        assert!(lines[at("= and i64 %ferrocm.cycles.")].ends_with(", -1"));
        // No attribute is invalid now, and no orders of uses remain.
        assert!(
            !counted.contains("memory(")
                && !counted.contains("nosync")
                && !counted.contains("  uselistorder")
        );
        assert!(counted.contains("attributes #1 = { nounwind \"x\"=\"a b\" }"));
        assert_eq!(counted.matches("declare i32 @llvm.amdgcn.mbcnt.lo(").count(), 1);
        assert_eq!(counted.matches("declare i64 @llvm.readcyclecounter(").count(), 1);
    }

    #[test]
    fn a_short_clock_is_masked_and_its_waves_are_watched() {
        let counted = count(MODULE, "gfx1151").unwrap();
        assert!(counted.contains("[7 x i64] zeroinitializer") && counted.contains(", 1048575\n"));
        assert!(counted.contains(", 26214\n"));
    }

    #[test]
    fn the_table_names_functions_as_the_linker_does() {
        let counted = count(MODULE, "gfx90a").unwrap();
        let (_, text) = counted.split_once(" x i8] c\"").unwrap();
        let text = text.split('"').next().unwrap();
        let bytes: Vec<u8> =
            text.split('\\').skip(1).map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect();
        let table = Table::from_bytes(&bytes, 6).unwrap();
        let names: Vec<&str> = table.functions.iter().map(|function| function.name.as_str()).collect();
        assert_eq!(names, ["k", "f(x)"]);
        let traffic = Traffic { space: Space::Global, access: Access::Store, bytes: 4, counter: 4 };
        assert_eq!(table.functions[0].traffic, [traffic]);
        assert_eq!(table.functions[1].traffic[0].space, Space::Constant);
    }

    #[test]
    fn a_module_without_functions_stays_as_it_is() {
        assert_eq!(count("@x = global i32 0\n", "gfx90a").unwrap(), "@x = global i32 0\n");
    }
}
