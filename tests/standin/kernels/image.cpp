#include "tests/standin/kernels/kernels.hpp"

namespace gangway::standin {

const char kernel_image[] = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .u32 counter;

.visible .entry mix(.param .u64 mix_p, .param .u32 mix_k)
{
  .reg .b32 %r<4>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [mix_p];
  ld.param.u32 %r1, [mix_k];
  cvta.to.global.u64 %d2, %d1;
  ld.global.u32 %r2, [%d2];
  mad.lo.u32 %r3, %r2, 31, %r1;
  st.global.u32 [%d2], %r3;
  ret;
}

.visible .entry fill(.param .u64 fill_p, .param .u32 fill_n, .param .u32 fill_value)
{
  .reg .pred %p<2>; .reg .b32 %r<7>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [fill_p];
  ld.param.u32 %r1, [fill_n];
  ld.param.u32 %r2, [fill_value];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %d2, %d1;
  mul.wide.u32 %d3, %r6, 4;
  add.u64 %d4, %d2, %d3;
  st.global.u32 [%d4], %r2;
DONE:
  ret;
}

.visible .entry hold(.param .u64 hold_flag, .param .u32 hold_n)
{
  .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %d<6>;
  ld.param.u64 %d1, [hold_flag];
  ld.param.u32 %r1, [hold_n];
  cvta.to.global.u64 %d2, %d1;
  mov.u64 %d3, %globaltimer;
LOOP:
  ld.relaxed.sys.global.u32 %r2, [%d2];
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mov.u64 %d4, %globaltimer;
  sub.u64 %d5, %d4, %d3;
  setp.lt.u64 %p2, %d5, 20000000000;
  @%p2 bra LOOP;
DONE:
  ret;
}

.visible .entry spin(.param .u64 spin_ns)
{
  .reg .pred %p<2>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [spin_ns];
  mov.u64 %d2, %globaltimer;
LOOP:
  mov.u64 %d3, %globaltimer;
  sub.u64 %d4, %d3, %d2;
  setp.lt.u64 %p1, %d4, %d1;
  @%p1 bra LOOP;
  ret;
}

.visible .entry layout(.param .u64 layout_out, .param .u8 layout_a, .param .u64 layout_b, .param .u16 layout_c, .param .u32 layout_d)
{
  .reg .b16 %h<2>; .reg .b32 %r<4>; .reg .b64 %d<6>;
  ld.param.u64 %d1, [layout_out];
  cvta.to.global.u64 %d2, %d1;
  ld.param.u8 %r1, [layout_a];
  cvt.u64.u32 %d3, %r1;
  st.global.u64 [%d2], %d3;
  ld.param.u64 %d4, [layout_b];
  st.global.u64 [%d2+8], %d4;
  ld.param.u16 %h1, [layout_c];
  cvt.u64.u16 %d5, %h1;
  st.global.u64 [%d2+16], %d5;
  ld.param.u32 %r3, [layout_d];
  cvt.u64.u32 %d3, %r3;
  st.global.u64 [%d2+24], %d3;
  ret;
}

.visible .entry shape(.param .u64 shape_out)
{
  .reg .b32 %r<2>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [shape_out];
  cvta.to.global.u64 %d2, %d1;
  mov.u32 %r1, %nctaid.x;
  st.global.u32 [%d2], %r1;
  mov.u32 %r1, %nctaid.y;
  st.global.u32 [%d2+4], %r1;
  mov.u32 %r1, %nctaid.z;
  st.global.u32 [%d2+8], %r1;
  mov.u32 %r1, %ntid.x;
  st.global.u32 [%d2+12], %r1;
  mov.u32 %r1, %ntid.y;
  st.global.u32 [%d2+16], %r1;
  mov.u32 %r1, %ntid.z;
  st.global.u32 [%d2+20], %r1;
  ret;
}

.visible .entry count(.param .u64 count_out)
{
  .reg .b32 %r<2>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [count_out];
  cvta.to.global.u64 %d2, %d1;
  atom.global.add.u32 %r1, [%d2], 1;
  ret;
}

.visible .entry bump(.param .u32 bump_k)
{
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [bump_k];
  ld.global.u32 %r2, [counter];
  add.u32 %r3, %r2, %r1;
  st.global.u32 [counter], %r3;
  ret;
}

.visible .entry fault(.param .u64 fault_p)
{
  .reg .b32 %r<2>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [fault_p];
  cvta.to.global.u64 %d2, %d1;
  mov.u32 %r1, 1;
  st.global.u32 [%d2], %r1;
  ret;
}
)";

}  // namespace gangway::standin
