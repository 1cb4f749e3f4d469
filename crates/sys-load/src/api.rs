//! The macro that gives a `-sys` crate its `Table` and `Builder`.

/// Gives the function table of a library its API: finding and filling it, asking what it has, building one by hand.
///
/// It is called once in the module that has, as a child, the generated module `table`, and as items of its own
/// `Extensions` (a `Copy` struct of functions that are not the vendor's, with a constant `NONE`). The generated module
/// must contain
///
/// - `pub struct Table`: `pub` fields of type `unsafe extern "C" fn(…) -> …`, one for each C function, under its name;
///   then `pub ext: Extensions` and `pub(super) origin: sys_load::Origin`;
/// - `impl Table { pub(super) const STUBS: Table }`: every field a stub, `ext: Extensions::NONE`,
///   `origin: Origin::NONE`;
/// - `pub(super) static SYMBOLS: [sys_load::Symbol; N]`: every C function with its name, the `offset_of!` its field and
///   the versions that export it, sorted by name;
/// - `pub const VERSIONS: [&str; M]`: the known versions of the library, oldest first; bit `i` of a symbol's `versions`
///   stands for `VERSIONS[i]`;
/// - `impl Builder`: a setter for each function, which assigns `self.table.<name>` and calls
///   `self.table.origin.provided.insert(<index in SYMBOLS>)`.
///
/// The call names the library and says how it is found. The word `unsafe` before that stands for a promise of the caller, since
/// [`Table::load`](crate::Loaded::get_or_load) will be safe: the generated module is as said above, the files of these names are
/// the library, in any place that [the crate](crate) looks at, and its initialisers may run in any process. Documentation comments before `builder;` are added to those of
/// `Builder`. `bridge`, which may be left out, is a `fn(&mut Table, &sys_load::Library)`:
/// [`Functions::bridge`](crate::Functions::bridge) says what it may do. `rocm: false` after it is for libraries that are not ROCm's.
///
/// ```
/// mod table {
///     // what `cargo xtask bindgen` writes
///     use super::{Builder, Extensions};
///     use sys_load::{Origin, Symbol};
///     use std::mem::offset_of;
///
///     #[derive(Debug)]
///     pub struct Table {
///         pub example_init: unsafe extern "C" fn(flags: u32) -> i32,
///         pub ext: Extensions,
///         pub(super) origin: Origin,
///     }
///     impl Table {
///         pub(super) const STUBS: Table =
///             Table { example_init: stubs::example_init, ext: Extensions::NONE, origin: Origin::NONE };
///     }
///     pub const VERSIONS: [&str; 2] = ["1.0", "2.0"];
///     pub(super) static SYMBOLS: [Symbol; 1] =
///         [Symbol { name: c"example_init", offset: offset_of!(Table, example_init), versions: 0b11 }];
///     impl Builder {
///         pub fn example_init(&mut self, function: unsafe extern "C" fn(flags: u32) -> i32) -> &mut Self {
///             self.table.example_init = function;
///             self.table.origin.provided.insert(0);
///             self
///         }
///     }
///     mod stubs {
///         pub(super) unsafe extern "C" fn example_init(_: u32) -> i32 { -1 }
///     }
/// }
/// pub use table::{Table, VERSIONS};
///
/// #[derive(Debug, Clone, Copy, Default)]
/// pub struct Extensions {}
/// impl Extensions {
///     pub const NONE: Extensions = Extensions {};
/// }
///
/// sys_load::table_api! {
///     builder;
///     // SAFETY: the table above has the library's functions; this project's libraries have these names.
///     unsafe library: "the example library",
///     variable: "EXAMPLE_LIBRARY",
///     names: &["libexample.so.2", "libexample.so.1"],
///     required: c"example_init",
///     versioning: sys_load::Versioning::FileName { otherwise: None },
///     unsupported: "returns -1",
///     bridge: |_table, _library| {},
/// }
///
/// fn main() {
///     assert!(Table::load().is_err_and(|error| error.to_string().contains("libexample.so.2")));
///     let stubs = Table::unsupported();
///     assert!(!stubs.has("example_init"));
///     assert_eq!(unsafe { (stubs.example_init)(0) }, -1);
/// }
/// ```
#[macro_export]
macro_rules! table_api {
    (
        $(#[$builder:meta])*
        builder;
        unsafe library: $what:literal,
        variable: $variable:literal,
        names: $names:expr,
        required: $required:expr,
        versioning: $versioning:expr,
        unsupported: $unsupported:literal
        $(, bridge: $bridge:expr)?
        $(, rocm: $rocm:expr)?
        $(,)?
    ) => {
        static UNSUPPORTED: Table = Table::STUBS;
        static LOADED: $crate::Loaded<Table> = $crate::Loaded::new();

        // SAFETY: the caller of the macro promises that the generated list pairs each C name with the offset of the field of
        // that name, which is a function pointer of the C function's type, that it is sorted, and that the search is for that
        // library.
        unsafe impl $crate::Functions for Table {
            const SEARCH: $crate::Search = $crate::Search {
                what: $what,
                variable: $variable,
                names: $names,
                required: $required,
                versioning: $versioning,
                rocm: true $(&& $rocm)?,
            };
            const VERSIONS: &'static [&'static str] = &table::VERSIONS;

            fn symbols() -> &'static [$crate::Symbol] {
                &table::SYMBOLS
            }

            fn unsupported() -> &'static Table {
                &UNSUPPORTED
            }

            unsafe fn stubs() -> Table {
                Table::STUBS
            }

            fn origin(&self) -> &$crate::Origin {
                &self.origin
            }

            fn origin_mut(&mut self) -> &mut $crate::Origin {
                &mut self.origin
            }

            fn bridge(table: &mut Table, library: &$crate::Library) {
                let bridges: &[fn(&mut Table, &$crate::Library)] = &[$($bridge)?];
                for bridge in bridges {
                    bridge(table, library);
                }
            }
        }

        impl Table {
            #[doc = concat!("A table in which every function is a stub that ", $unsupported, ".")]
            pub fn unsupported() -> &'static Table {
                &UNSUPPORTED
            }

            #[doc = concat!("Opens ", $what, ", once; later calls return the same table.")]
            ///
            #[doc = concat!("Looks at the file that the environment variable `", $variable, "` names, and at no other")]
            /// if it is set; else for a library that is already in the process, beside other ROCm libraries in the
            /// process, what the system's loader finds, `ROCM_PATH`, `HIP_PATH`, `/opt/rocm*`, and Python packages;
            /// newest version first. A failure is not remembered: a later call looks again.
            ///
            /// # Errors
            /// [`LoadError`](sys_load::LoadError) lists every place that was tried and why it did not serve.
            pub fn load() -> ::std::result::Result<&'static Table, $crate::LoadError> {
                LOADED.get_or_load()
            }

            /// Opens exactly the library at `path`, whatever [`Table::load`] finds. Each call makes a table of its own,
            /// which lives as long as the process.
            ///
            /// # Errors
            /// [`LoadError`](sys_load::LoadError) if the file cannot be opened or is another library.
            ///
            /// # Safety
            #[doc = concat!("The file must be an implementation of ", $what, "; opening it runs its initialisers.")]
            pub unsafe fn load_from(
                path: &::std::path::Path,
            ) -> ::std::result::Result<&'static Table, $crate::LoadError> {
                // SAFETY: the caller vouches for the file.
                unsafe { $crate::table::load_from(path) }
            }

            /// Whether `symbol` is a real function here, the library's or one of this project's that stands in for
            /// it; false for a stub and for a name the headers do not have.
            pub fn has(&self, symbol: &str) -> bool {
                self.availability(symbol).is_some_and(|availability| availability.provided)
            }

            /// Whether `symbol` is a real function here, and which versions of the library have it; `None` for a name
            /// the headers do not have.
            pub fn availability(&self, symbol: &str) -> ::std::option::Option<$crate::Availability> {
                $crate::Availability::of(self, symbol)
            }

            /// The names of all functions of the table, sorted.
            pub fn symbols() -> impl ::std::iter::Iterator<Item = &'static str> {
                table::SYMBOLS.iter().filter_map(|symbol| symbol.name.to_str().ok())
            }

            /// The file that the functions come from; `None` for stubs and for implementations inside the process.
            pub fn path(&self) -> ::std::option::Option<&::std::path::Path> {
                self.origin.path.as_deref()
            }

            /// The version of the library, if it is a file and its name or the library itself tells.
            pub fn version(&self) -> ::std::option::Option<$crate::Version> {
                self.origin.version
            }

            /// How the library was found, if it is a file.
            pub fn source(&self) -> ::std::option::Option<$crate::Source> {
                self.origin.source
            }

            /// The places that were tried before the library was found, and why they did not serve.
            pub fn passed_over(&self) -> &[$crate::Attempt] {
                &self.origin.passed_over
            }

            /// The name of the implementation, if it is one inside the process.
            pub fn implementation(&self) -> ::std::option::Option<&str> {
                self.origin.implementation.as_ref().map(|(name, _)| name.as_str())
            }

            /// The implementation's own version, if it is one inside the process.
            pub fn implementation_version(&self) -> ::std::option::Option<&str> {
                self.origin.implementation.as_ref().map(|(_, version)| version.as_str())
            }
        }

        /// Makes a table of functions of this process: those given to it, and stubs for the rest.
        $(#[$builder])*
        #[derive(Debug)]
        pub struct Builder {
            table: ::std::boxed::Box<Table>,
        }

        impl Builder {
            /// Starts with stubs only.
            pub fn new(implementation: &str, version: &str) -> Builder {
                let mut table = ::std::boxed::Box::new(Table::STUBS);
                table.origin.implementation =
                    ::std::option::Option::Some((implementation.to_owned(), version.to_owned()));
                Builder { table }
            }

            /// Sets the functions that are not the vendor's.
            pub fn extensions(&mut self, extensions: Extensions) -> &mut Self {
                self.table.ext = extensions;
                self
            }

            /// The finished table, which lives as long as the process.
            ///
            /// # Safety
            /// Safe code will call the functions and trust what they return: each must keep the contract that the
            /// vendor's documentation gives it, for as long as the process lives and from any thread.
            pub unsafe fn finish(self) -> &'static Table {
                ::std::boxed::Box::leak(self.table)
            }
        }
    };
}
