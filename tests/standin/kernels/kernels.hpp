// Kernels that run on a GPU and on the stand-in: one PTX text, one twin each. They are told apart by what
// they leave behind: mix() in another order gives another number.
#pragma once

namespace gangway::standin {

// mix(u64 p, u32 k): *p = *p * 31 + k.                          fill(u64 p, u32 n, u32 value): n words, one a
// thread. hold(u64 flag, u32 n): until *flag >= n, or 20 s (the twin: 60).        spin(u64 ns): as long as
// that. layout(u64 out, u8 a, u64 b, u16 c, u32 d): copies a to d.    shape(u64 out): grid and block, six
// words. count(u64 out): adds 1 for each thread.                       bump(u32 k): adds to the variable
// `counter`. fault(u64 p): writes to *p; the twin faults as a GPU does when p is 0.
extern const char kernel_image[];

}  // namespace gangway::standin
