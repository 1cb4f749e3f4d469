//! NVTX's marks and ranges, on the timeline and in the log.
//!
//! NVTX is a set of headers without a library. At a program's first mark, they look for an *injection*: a
//! library that exports `InitializeInjectionNvtx2` and fills in the functions that it wants to receive. This
//! is one. The headers of `ferrocm nvcc` ask the HIP library that is loaded; NVIDIA's ask the library that
//! `NVTX_INJECTION64_PATH` names.
//!
//! Domains and registered strings are handles that are only looked up, never read through.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use timeline::Track;
use timeline::ranges::{self, Label};
use tracing::Level;

/// The category of events, and the target of messages.
const NVTX: &str = "nvtx";
/// `NVTX_ETID_CALLBACKS`: the table that leads to the tables of functions.
const CALLBACKS: u32 = 1;
/// `NVTX_NO_PUSH_POP_TRACKING`: there is no such range.
const NO_RANGE: c_int = -2;
const VERSION: u16 = 3;

type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;
/// A function of any type.
type Function = unsafe extern "C" fn();
/// The places of a module's functions, by number. A place may be null.
type Table = *mut *mut Option<Function>;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    module_table: Option<unsafe extern "C" fn(c_int, *mut Table, *mut c_uint) -> c_int>,
}

/// `nvtxEventAttributes_t`.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// A domain's handle, or a registered string's: a number, as a pointer.
type Handle = *mut c_void;

/// What programs have named.
#[derive(Default)]
struct Names {
    /// By handle, from 1.
    domains: Vec<String>,
    strings: Vec<String>,
    /// By the domain's handle and the category's number.
    categories: HashMap<(usize, u32), String>,
}

fn names() -> MutexGuard<'static, Names> {
    static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Names {
    fn add(list: &mut Vec<String>, name: String) -> Handle {
        list.push(name);
        ptr::without_provenance_mut(list.len())
    }

    fn get(list: &[String], handle: usize) -> Option<&str> {
        list.get(handle.checked_sub(1)?).map(String::as_str)
    }
}

/// Puts a function into its place of a module's table.
macro_rules! attach {
    ($table:ident, $($id:literal $function:ident as $type:ty;)*) => {
        // SAFETY: the headers call each place with the type that NVTX gives its number.
        $($table.set($id, unsafe { std::mem::transmute::<$type, Function>($function) });)*
    };
}

/// A module's table.
struct Module {
    table: Table,
    length: usize,
}

impl Module {
    fn set(&self, id: usize, function: Function) {
        if id < self.length {
            // SAFETY: the table has this many entries; each is null or points to a place for a function,
            // which no thread calls before the injection has returned.
            unsafe {
                let place = self.table.add(id).read();
                if !place.is_null() {
                    place.write(Some(function));
                }
            }
        }
    }
}

/// The injection's entry: takes over NVTX's functions if a timeline is written or ranges are logged. Returns
/// whether it has.
///
/// # Safety
/// The function is NVTX's `nvtxGetExportTable`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is NVTX's")]
unsafe extern "C" fn InitializeInjectionNvtx2(export_table: Option<GetExportTable>) -> c_int {
    drop_in::log::start("libamdhip64");
    // A file that cannot be written is reported when the first device is opened.
    let is_wanted = timeline::is_on() || tracing::enabled!(target: NVTX, Level::TRACE);
    let (Some(export_table), true) = (export_table, is_wanted) else { return 0 };
    // SAFETY: the caller passes NVTX's function, whose tables live as long as the program.
    let module = |number| unsafe {
        let callbacks = export_table(CALLBACKS).cast::<Callbacks>().as_ref()?;
        if callbacks.size < size_of::<Callbacks>() {
            return None;
        }
        let (mut table, mut length) = (ptr::null_mut(), 0);
        let found = callbacks.module_table?(number, &raw mut table, &raw mut length) != 0;
        (found && !table.is_null()).then_some(Module { table, length: length as usize })
    };
    let (Some(core), Some(domains)) = (module(1), module(5)) else { return 0 };
    attach_core(&core);
    attach_domains(&domains);
    1
}

/// `NvtxCallbackIdCore`.
fn attach_core(core: &Module) {
    attach! { core,
        1 mark_ex as unsafe extern "C" fn(*const Attributes);
        2 mark_a as unsafe extern "C" fn(*const c_char);
        3 mark_w as unsafe extern "C" fn(*const u32);
        4 start_ex as unsafe extern "C" fn(*const Attributes) -> u64;
        5 start_a as unsafe extern "C" fn(*const c_char) -> u64;
        6 start_w as unsafe extern "C" fn(*const u32) -> u64;
        7 end as unsafe extern "C" fn(u64);
        8 push_ex as unsafe extern "C" fn(*const Attributes) -> c_int;
        9 push_a as unsafe extern "C" fn(*const c_char) -> c_int;
        10 push_w as unsafe extern "C" fn(*const u32) -> c_int;
        11 pop as unsafe extern "C" fn() -> c_int;
        12 name_category_a as unsafe extern "C" fn(u32, *const c_char);
        13 name_category_w as unsafe extern "C" fn(u32, *const u32);
        14 name_thread_a as unsafe extern "C" fn(u32, *const c_char);
        15 name_thread_w as unsafe extern "C" fn(u32, *const u32);
    }
}

/// `NvtxCallbackIdCore2`. Resources have no place on a timeline.
fn attach_domains(domains: &Module) {
    attach! { domains,
        1 domain_mark as unsafe extern "C" fn(Handle, *const Attributes);
        2 domain_start as unsafe extern "C" fn(Handle, *const Attributes) -> u64;
        3 domain_end as unsafe extern "C" fn(Handle, u64);
        4 domain_push as unsafe extern "C" fn(Handle, *const Attributes) -> c_int;
        5 domain_pop as unsafe extern "C" fn(Handle) -> c_int;
        8 domain_name_category_a as unsafe extern "C" fn(Handle, u32, *const c_char);
        9 domain_name_category_w as unsafe extern "C" fn(Handle, u32, *const u32);
        10 register_string_a as unsafe extern "C" fn(Handle, *const c_char) -> Handle;
        11 register_string_w as unsafe extern "C" fn(Handle, *const u32) -> Handle;
        12 create_domain_a as unsafe extern "C" fn(*const c_char) -> Handle;
        13 create_domain_w as unsafe extern "C" fn(*const u32) -> Handle;
    }
}

/// The domain of functions that take none.
const DEFAULT: Handle = ptr::null_mut();

/// A text of bytes; empty for null.
///
/// # Safety
/// The text is null or ends in a NUL.
unsafe fn narrow(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as above, and it is not null.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A text of `wchar_t`, which has 32 bits on Linux; empty for null.
///
/// # Safety
/// The text is null or ends in a NUL.
unsafe fn wide(text: *const u32) -> String {
    let mut characters = String::new();
    if !text.is_null() {
        // SAFETY: the NUL has not been passed.
        for character in (0..).map(|i| unsafe { text.add(i).read() }).take_while(|character| *character != 0)
        {
            characters.push(char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
    characters
}

/// The label of a mark or range with attributes.
///
/// # Safety
/// The attributes are null or NVTX's, with a text of the type that they name.
unsafe fn label(domain: Handle, attributes: *const Attributes) -> Label {
    let names = names();
    // SAFETY: as above. Fields behind the size that the program names are not read.
    let attributes = unsafe {
        let is_whole = !attributes.is_null()
            && (&raw const (*attributes).version).read() == VERSION
            && usize::from((&raw const (*attributes).size).read()) >= size_of::<Attributes>();
        is_whole.then(|| &*attributes)
    };
    let Some(attributes) = attributes else { return Label::new(NVTX, "invalid attributes") };
    // SAFETY: as above.
    let name = unsafe {
        match attributes.message_type {
            1 => narrow(attributes.message.cast()),
            2 => wide(attributes.message.cast()),
            3 => Names::get(&names.strings, attributes.message.addr()).unwrap_or_default().to_owned(),
            _ => String::new(),
        }
    };
    let mut label = Label::new(NVTX, name);
    if let Some(domain) = Names::get(&names.domains, domain.addr()) {
        label.text("domain", domain);
    }
    if attributes.category != 0 {
        match names.categories.get(&(domain.addr(), attributes.category)) {
            Some(name) => label.text("category", name),
            None => label.number("category", attributes.category.into()),
        }
    }
    if attributes.color_type == 1 {
        label.text("color", format_args!("#{:08x}", attributes.color));
    }
    let payload = attributes.payload;
    let low = payload as u32;
    match attributes.payload_type {
        1 => label.number("payload", payload),
        2 => label.signed("payload", payload as i64),
        3 => label.real("payload", f64::from_bits(payload)),
        4 => label.number("payload", low.into()),
        5 => label.signed("payload", (low as i32).into()),
        6 => label.real("payload", f32::from_bits(low).into()),
        _ => {}
    }
    label
}

fn log(what: &str, name: &str) {
    tracing::trace!(target: NVTX, name, "{what}");
}

fn show(label: &Label) {
    log("mark", label.name());
    ranges::mark(label);
}

fn push(domain: Handle, label: Label) -> c_int {
    log("range begins", label.name());
    c_int::try_from(ranges::push(domain.addr(), label)).unwrap_or(c_int::MAX)
}

fn pop_of(domain: Handle) -> c_int {
    tracing::trace!(target: NVTX, "range ends");
    ranges::pop(domain.addr()).map_or(NO_RANGE, |depth| c_int::try_from(depth).unwrap_or(c_int::MAX))
}

fn start(label: &Label) -> u64 {
    let id = ranges::start(label);
    tracing::trace!(target: NVTX, name = label.name(), id, "range starts");
    id
}

extern "C" fn end(id: u64) {
    tracing::trace!(target: NVTX, id, "range stops");
    ranges::end(id);
}

fn name_category(domain: Handle, category: u32, name: String) {
    names().categories.insert((domain.addr(), category), name);
}

fn create_domain(name: String) -> Handle {
    Names::add(&mut names().domains, name)
}

fn register(name: String) -> Handle {
    Names::add(&mut names().strings, name)
}

/// NVTX's functions, each of which reads what the program passes and hands it on.
macro_rules! functions {
    ($($name:ident($($parameter:ident: $type:ty),*) $(-> $result:ty)? { $body:expr })*) => {
        $(
            unsafe extern "C" fn $name($($parameter: $type),*) $(-> $result)? {
                // SAFETY: NVTX's functions take attributes, and texts that end in a NUL.
                unsafe { $body }
            }
        )*
    };
}

functions! {
    mark_ex(attributes: *const Attributes) { show(&label(DEFAULT, attributes)) }
    mark_a(text: *const c_char) { show(&Label::new(NVTX, narrow(text))) }
    mark_w(text: *const u32) { show(&Label::new(NVTX, wide(text))) }
    start_ex(attributes: *const Attributes) -> u64 { start(&label(DEFAULT, attributes)) }
    start_a(text: *const c_char) -> u64 { start(&Label::new(NVTX, narrow(text))) }
    start_w(text: *const u32) -> u64 { start(&Label::new(NVTX, wide(text))) }
    push_ex(attributes: *const Attributes) -> c_int { push(DEFAULT, label(DEFAULT, attributes)) }
    push_a(text: *const c_char) -> c_int { push(DEFAULT, Label::new(NVTX, narrow(text))) }
    push_w(text: *const u32) -> c_int { push(DEFAULT, Label::new(NVTX, wide(text))) }
    name_category_a(category: u32, text: *const c_char) { name_category(DEFAULT, category, narrow(text)) }
    name_category_w(category: u32, text: *const u32) { name_category(DEFAULT, category, wide(text)) }
    name_thread_a(thread: u32, text: *const c_char) { Track::name_thread(thread, &narrow(text)) }
    name_thread_w(thread: u32, text: *const u32) { Track::name_thread(thread, &wide(text)) }
    domain_mark(domain: Handle, attributes: *const Attributes) { show(&label(domain, attributes)) }
    domain_start(domain: Handle, attributes: *const Attributes) -> u64 { start(&label(domain, attributes)) }
    domain_push(domain: Handle, attributes: *const Attributes) -> c_int { push(domain, label(domain, attributes)) }
    domain_name_category_a(domain: Handle, category: u32, text: *const c_char) {
        name_category(domain, category, narrow(text))
    }
    domain_name_category_w(domain: Handle, category: u32, text: *const u32) {
        name_category(domain, category, wide(text))
    }
    register_string_a(_domain: Handle, text: *const c_char) -> Handle { register(narrow(text)) }
    register_string_w(_domain: Handle, text: *const u32) -> Handle { register(wide(text)) }
    create_domain_a(text: *const c_char) -> Handle { create_domain(narrow(text)) }
    create_domain_w(text: *const u32) -> Handle { create_domain(wide(text)) }
}

extern "C" fn pop() -> c_int {
    pop_of(DEFAULT)
}

extern "C" fn domain_pop(domain: Handle) -> c_int {
    pop_of(domain)
}

extern "C" fn domain_end(_domain: Handle, id: u64) {
    end(id);
}
