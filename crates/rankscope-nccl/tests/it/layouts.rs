//! Tables and descriptors: what the compiler was made to check already, where somebody might look for it.

use rankscope_nccl::layout::*;

#[test]
fn tables_and_descriptors_are_as_long_as_nccls() {
    let tables = [size_of::<ProfilerOf1>(), size_of::<ProfilerOf4>(), size_of::<ProfilerOf5>()];
    assert_eq!(tables, [48; 3]);
    let descriptors = [
        size_of::<Descriptor1>(),
        size_of::<Descriptor2>(),
        size_of::<Descriptor3>(),
        size_of::<Descriptor4>(),
        size_of::<Descriptor5>(),
        size_of::<Descriptor6>(),
        size_of::<Descriptor7>(),
    ];
    assert_eq!(descriptors, [120, 128, 120, 104, 112, 112, 136]);
}
