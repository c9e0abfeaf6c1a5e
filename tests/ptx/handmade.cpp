#include "tests/ptx/handmade.hpp"

#include <fmt/format.h>

namespace gangway::testing::ptx {

RandomModule Handmade::module() const {
  RandomKernel kernel;
  kernel.name = "handmade";
  kernel.grid.x = blocks;
  kernel.block.x = threads;
  kernel.parameters.resize(8);
  kernel.output_parameter = 0;
  kernel.region_bytes = 64 + 16 * std::uint64_t{threads};
  RandomModule made;
  made.text = fmt::format(
      ".version 8.0\n.target sm_80\n.address_size 64\n{}\n.visible .entry handmade(.param .u64 out)\n{{\n"
      ".reg .pred %p<9>;\n.reg .b32 %v<6>;\n.reg .b32 %t<10>;\n.reg .b64 %w<10>;\n.reg .b32 %linear, %grid;\n"
      ".reg .b64 %region, %mine;\n.shared .align 4 .b8 own[{}];\n"
      "ld.param.u64 %region, [out];\nmov.u32 %linear, %tid.x;\nmov.u32 %grid, %ctaid.x;\n"
      "mad.wide.u32 %region, %grid, {}, %region;\nmad.wide.u32 %mine, %linear, 16, %region;\nadd.u64 %mine, "
      "%mine, 64;\n"
      "mad.lo.u32 %v0, %linear, 7, %grid;\n{}\nst.global.u32 [%mine], %v0;\nret;\n}}\n",
      declarations, 4 * threads, kernel.region_bytes, body);
  made.kernels.push_back(kernel);
  return made;
}

}  // namespace gangway::testing::ptx
