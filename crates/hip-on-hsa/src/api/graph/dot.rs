//! Graphs as text, in the DOT language.

use std::ffi::c_char;
use std::fmt::Write;

use hip_sys::{hipError_t, hipGraph_t, hipGraphDebugDotFlags as Flags};

use crate::caller;
use crate::error::entry;
use crate::graph::op::Op;
use crate::graph::structure::{Graph, graph};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// The kind of a node, and its details if the flags ask for them.
fn label(op: &Op, flags: Flags) -> String {
    let wants = |flag: Flags| flags.intersects(flag | Flags::hipGraphDebugDotFlagsVerbose);
    match op {
        Op::Empty => "empty".to_owned(),
        Op::Kernel(kernel) => {
            let launch = &kernel.launch;
            let mut text = launch.function.name.to_string_lossy().into_owned();
            if wants(Flags::hipGraphDebugDotFlagsKernelNodeParams) {
                let (blocks, block, lds) = (launch.blocks, launch.dispatch.block, launch.dynamic_lds);
                let _ = write!(text, "\\ngrid {blocks:?} block {block:?} dynamic LDS {lds}");
            }
            if wants(Flags::hipGraphDebugDotFlagsKernelNodeAttributes) && launch.cooperative {
                text.push_str("\\ncooperative");
            }
            text
        }
        Op::Copy(copy) => {
            let mut text = "copy".to_owned();
            if wants(Flags::hipGraphDebugDotFlagsMemcpyNodeParams) {
                let (dst, src) = (copy.rect.dst, copy.rect.src);
                let shape = [dst.width, dst.height, dst.depth];
                let _ = write!(text, "\\n{:?} {:#x} from {:#x}, {shape:?}", copy.kind, dst.start, src.start);
            }
            text
        }
        Op::Fill(fill) => {
            let mut text = "fill".to_owned();
            if wants(Flags::hipGraphDebugDotFlagsMemsetNodeParams) {
                let (rows, (value, element)) = (fill.rows(), fill.element());
                let shape = [rows.width, rows.height, rows.depth];
                let _ = write!(text, "\\n{:#x}, {shape:?}, {element} x {value:#x}", rows.start);
            }
            text
        }
        Op::Host(host) => {
            let mut text = "host function".to_owned();
            if wants(Flags::hipGraphDebugDotFlagsHostNodeParams) {
                let _ = write!(text, "\\n{:#x} with {:p}", host.function as usize, host.data.get());
            }
            text
        }
        Op::Memory(ops) => format!("{} memory operations", ops.params().len()),
        Op::Record(event) | Op::Wait(event) => {
            let mut text =
                if matches!(op, Op::Record(_)) { "record event" } else { "wait for event" }.to_owned();
            if wants(Flags::hipGraphDebugDotFlagsEventNodeParams) {
                let _ = write!(text, "\\n{:#x}", event.handle);
            }
            text
        }
        Op::Child(_) => "graph".to_owned(),
        Op::Allocate(memory) => format!("allocate {:#x}", memory.base()),
        Op::Free(address) => format!("free {address:#x}"),
    }
}

fn print(graph: &Graph, flags: Flags, out: &mut String) {
    let nodes = graph.nodes();
    for (id, node) in nodes.iter() {
        let mut label = label(&node.op, flags);
        if flags.intersects(Flags::hipGraphDebugDotFlagsHandles | Flags::hipGraphDebugDotFlagsVerbose) {
            let _ = write!(label, "\\nnode {:#x}", node.handle);
        }
        // Names of kernels may contain quotes.
        let _ = writeln!(out, "  n{id} [label=\"{}\"];", label.replace('"', "\\\""));
        for before in &node.after {
            let _ = writeln!(out, "  n{before} -> n{id};");
        }
        if let Op::Child(child) = &node.op {
            let _ = writeln!(out, "  subgraph cluster_{id} {{");
            print(child, flags, out);
            let _ = writeln!(out, "  }}");
        }
    }
}

/// `hipGraphDebugDotPrint`.
pub(crate) unsafe extern "C" fn hipGraphDebugDotPrint(
    handle: hipGraph_t,
    path: *const c_char,
    flags: u32,
) -> hipError_t {
    entry(|| {
        let graph = graph(active()?, handle)?;
        // SAFETY: the caller passes a NUL-terminated path.
        let path = unsafe { caller::text(path) }?.to_str().map_err(|_| INVALID_VALUE)?;
        let mut text = "digraph graph_ {\n  node [shape=box];\n".to_owned();
        print(&graph, Flags::from_bits_retain(flags), &mut text);
        text.push_str("}\n");
        std::fs::write(path, text).map_err(|error| {
            tracing::error!(%error, path, "a graph could not be written");
            hipError_t::hipErrorOperatingSystem
        })
    })
}
