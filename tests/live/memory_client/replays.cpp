// What PyTorch's allocator asked for, from a file that tests/live/allocations/record.py wrote: its segments,
// and the blocks that it gave to tensors, each of which has contents. Or the blocks alone, each asked for by
// itself in a stream's order, as its other allocator does.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/live/memory_client/modes.hpp"

namespace gangway::memory_client {
namespace {

// Of an expandable segment: its addresses, and the memory behind them by offset.
struct Reserved {
  CUdeviceptr at = 0;
  std::size_t size = 0, piece = 0;
  std::map<std::size_t, CUmemGenericAllocationHandle> pieces;
};

class Replay {
 public:
  Replay(Program& program, bool blocks_alone) : program_(program), blocks_alone_(blocks_alone) {}

  // False: there is no such line.
  bool play(const std::string& line) {
    std::istringstream words(line);
    std::string what, name, place;
    std::size_t offset = 0, size = 0;
    words >> what >> name;
    if (what == "block") {
      words >> place >> offset >> size;
      if (words) block(name, place, offset, size);
    } else if (what == "free") {
      free(name);
    } else if (blocks_alone_) {
      return true;
    } else if (what == "segment") {
      words >> size;
      if (words) NEED(cuMemAlloc(&segments_[name], size));
    } else if (what == "release") {
      NEED(cuMemFree(segments_.at(name)));
      segments_.erase(name);
    } else if (what == "reserve") {
      Reserved& reserved = reserved_[name];
      words >> reserved.size >> reserved.piece;
      NEED(cuMemAddressReserve(&reserved.at, reserved.size, 0, 0, 0));
    } else if (what == "unreserve") {
      NEED(cuMemAddressFree(reserved_.at(name).at, reserved_.at(name).size));
      reserved_.erase(name);
    } else if (what == "map" || what == "unmap") {
      words >> offset >> size;
      if (what == "map")
        map(reserved_.at(name), offset, size);
      else
        unmap(reserved_.at(name), offset, size);
    } else {
      return false;
    }
    return static_cast<bool>(words);
  }

  // Looks into some block and changes it, as kernels do between allocations.
  void use_one() {
    if (blocks_.empty()) return;
    auto block = blocks_.begin();
    std::advance(block, static_cast<std::ptrdiff_t>(program_.below(blocks_.size())));
    program_.change(block->second);
    if (program_.below(4) == 0) program_.check(block->second);
  }

  void end() {
    while (!blocks_.empty()) free(blocks_.begin()->first);
    for (const auto& [name, at] : segments_) NEED(cuMemFree(at));
    for (auto& [name, reserved] : reserved_) {
      while (!reserved.pieces.empty()) unmap(reserved, reserved.pieces.begin()->first, reserved.piece);
      NEED(cuMemAddressFree(reserved.at, reserved.size));
    }
  }

 private:
  void block(const std::string& name, const std::string& place, std::size_t offset, std::size_t size) {
    Block block;
    block.size = size;
    if (blocks_alone_)
      NEED(cuMemAllocAsync(&block.at, size, program_.stream()));
    else
      block.at = (place[0] == 's' ? segments_.at(place) : reserved_.at(place).at) + offset;
    program_.fill(block);
    if (!blocks_.emplace(name, std::move(block)).second) Program::fail("a block's name");
  }

  void free(const std::string& name) {
    const Block& block = blocks_.at(name);
    program_.check(block);
    if (blocks_alone_) NEED(cuMemFreeAsync(block.at, program_.stream()));
    blocks_.erase(name);
  }

  // As PyTorch: one piece of memory after another, and then access to all of them.
  static void map(Reserved& reserved, std::size_t offset, std::size_t size) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (std::size_t at = offset; at < offset + size; at += reserved.piece) {
      NEED(cuMemCreate(&reserved.pieces[at], reserved.piece, &properties, 0));
      NEED(cuMemMap(reserved.at + at, reserved.piece, 0, reserved.pieces[at], 0));
    }
    NEED(cuMemSetAccess(reserved.at + offset, size, &access, 1));
  }

  void unmap(Reserved& reserved, std::size_t offset, std::size_t size) {
    program_.wait();
    NEED(cuMemUnmap(reserved.at + offset, size));
    for (std::size_t at = offset; at < offset + size; at += reserved.piece) {
      NEED(cuMemRelease(reserved.pieces.at(at)));
      reserved.pieces.erase(at);
    }
  }

  Program& program_;
  bool blocks_alone_;
  std::map<std::string, CUdeviceptr> segments_;
  std::map<std::string, Reserved> reserved_;
  std::map<std::string, Block> blocks_;
};

// So many times, each as another process would.
int replays(Program& program, const Arguments& given, bool blocks_alone) {
  if (given.file == nullptr) return 2;
  int lines = 0;
  for (int round = 0; round < given.steps; ++round) {
    std::ifstream file(given.file);
    Replay replay(program, blocks_alone);
    std::string line;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      if (!replay.play(line)) {
        std::printf("%s: %s\n", given.file, line.c_str());
        return 2;
      }
      ++lines;
      replay.use_one();
      if (program.below(16) == 0) program.wait();
    }
    replay.end();
    program.wait();
  }
  std::printf("replayed %d\n", lines);
  return 0;
}

const Mode segments_mode("replays", [](Program& program, const Arguments& given) {
  return replays(program, given, false);
});
const Mode blocks_mode("replays-blocks", [](Program& program, const Arguments& given) {
  return replays(program, given, true);
});

}  // namespace
}  // namespace gangway::memory_client
