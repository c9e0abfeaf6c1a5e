// What operands that are neither registers nor numbers stand for.
#include "tests/ptx/interpreter/machine.hpp"

namespace gangway::testing::ptx {

std::uint64_t read_other(const Machine& m, const Thread& t, const Operand& o) {
  switch (o.kind) {
    case Operand::Kind::shared:
      return kSharedBase + m.layout->offset[o.index] + o.value;
    case Operand::Kind::local:
      return t.frame_memory + o.value;
    case Operand::Kind::param:
      return o.value;
    case Operand::Kind::frame:
      return kLocalWindow + t.frame_memory + o.value;
    case Operand::Kind::special:
      break;
    default:
      return 0;
  }
  const Launch& launch = *m.launch;
  const std::uint32_t lane = t.lane();
  switch (o.index) {
    case 0:
      return t.x;
    case 1:
      return t.y;
    case 2:
      return t.z;
    case 3:
      return launch.block.x;
    case 4:
      return launch.block.y;
    case 5:
      return launch.block.z;
    case 6:
      return t.block->x;
    case 7:
      return t.block->y;
    case 8:
      return t.block->z;
    case 9:
      return launch.grid.x;
    case 10:
      return launch.grid.y;
    case 11:
      return launch.grid.z;
    case 20:
      return lane;
    case 21:
      return t.warp();
    case 22:
      return (launch.block.count() + kWarp - 1) / kWarp;
    case 23:
      return t.block->linear % 4;
    case 24:
      return 4;
    case 25:
      return m.executed & 0xFFFFFFFF;
    case 26:
      return m.executed >> 32;
    case 27:
    case 28:
      return m.executed;
    case 29:
      return m.executed & 0xFFFFFFFF;
    case 30:
      return m.executed >> 32;
    case 31:
      return launch.dynamic_shared_bytes;
    case 32:
      return m.layout->dynamic_offset + launch.dynamic_shared_bytes;
    case 33:
      return std::uint64_t{1} << lane;
    case 34:
      return (std::uint64_t{2} << lane) - 1;
    case 35:
      return (std::uint64_t{1} << lane) - 1;
    case 36:
      return ~((std::uint64_t{1} << lane) - 1) & 0xFFFFFFFF;
    case 37:
      return ~((std::uint64_t{2} << lane) - 1) & 0xFFFFFFFF;
    case 38:
      return kWarp;
    case 39:
      return m.grid;
    default:
      return 1;
  }
}

}  // namespace gangway::testing::ptx
