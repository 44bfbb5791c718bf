; Linked with kernels that become SPIR-V, which then says that its source is OpenCL C++. Intel's runtime for processors has
; atomic functions on pointers of any address space only for such a source.
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
target triple = "spirv64"
!spirv.Source = !{!0}
!0 = !{i32 4, i32 100000}
