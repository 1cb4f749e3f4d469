//! Code objects that clang writes during the test. Without clang, the tests are skipped with a reason.

use code_object::{ArgKind, CodeObject, HiddenArg, RelocationKind};

use crate::support;

const SOURCE: &str = "
global int counter = 5;
global int *global where = &counter;
kernel void add(global int *x, uchar small, double wide, local float *scratch) {
    int i = __builtin_amdgcn_workitem_id_x();
    scratch[i] = wide;
    __builtin_amdgcn_s_barrier();
    x[i + __builtin_amdgcn_workgroup_size_x()] += small + *where + scratch[i ^ 1];
}";

#[test]
fn what_clang_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (target, version, wave) in
        [("gfx1030", 5, 32), ("gfx1100", 4, 32), ("gfx90a:sramecc+:xnack-", 5, 64), ("gfx9-4-generic", 6, 64)]
    {
        let Some(bytes) = support::compile(folder.path(), SOURCE, target, version) else { return };
        let object = CodeObject::parse(&bytes).unwrap();
        assert_eq!((object.target().to_string().as_str(), object.version()), (target, version));
        assert_eq!(object.generic_version(), target.ends_with("generic").then_some(1));
        let kernel = object.kernel("add").unwrap();
        assert_eq!(kernel.wavefront_size, wave);
        let args: Vec<_> =
            kernel.explicit_args().map(|arg| (arg.offset, arg.size, arg.kind.clone())).collect();
        assert_eq!(
            args,
            [
                (0, 8, ArgKind::GlobalBuffer),
                (8, 1, ArgKind::ByValue),
                (16, 8, ArgKind::ByValue),
                (24, 4, ArgKind::DynamicSharedPointer)
            ]
        );
        let counts = kernel.hidden_args().filter(|(hidden, _)| *hidden == HiddenArg::BlockCountX).count();
        assert_eq!(counts, usize::from(version >= 5));
        assert_eq!(kernel.entry_vaddr, object.symbol("add").unwrap().value);
        assert_eq!(kernel.descriptor.kernarg_size, kernel.kernarg_size);
        assert!(kernel.vgpr_count > 0 && kernel.sgpr_count > 0);
        let [relocation] = object.relocations() else { panic!("{:?}", object.relocations()) };
        assert_eq!((relocation.kind, relocation.symbol), (RelocationKind::Relative64, None));
        let counter = object.file_range(relocation.addend as u64, 4).unwrap();
        assert_eq!(bytes[counter], 5i32.to_le_bytes());
    }
}
