// A program of the tests that uses much device memory, in every way that there is, and knows what must be in
// it: memory_client WHAT SEED STEPS MEBIBYTES [FILE]. It knows nothing of Gangway.
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/standin/kernels/kernels.hpp"

namespace {

constexpr std::size_t kMiB = 1 << 20, kProbe = 64 << 10;  // bytes between words that are looked at

void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: error %d\n", what, static_cast<int>(result));
  std::exit(3);
}
#define NEED(call) need(call, #call)

struct Block {
  enum Kind { plain, pitched, ordered, mapped } kind = plain;
  CUdeviceptr at = 0;
  std::size_t size = 0;
  std::vector<std::uint32_t> words;  // one in each kProbe bytes, and the last
  std::vector<CUmemGenericAllocationHandle> handles;
};

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    NEED(cuModuleLoadData(&module_, gangway::standin::kernel_image));
    NEED(cuModuleGetFunction(&mix_, module_, "mix"));
    NEED(cuModuleGetFunction(&spin_, module_, "spin"));
    NEED(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // Sizes as PyTorch's allocator asks for them, and others.
  std::size_t some_size(std::size_t most) {
    const std::size_t sizes[] = {1 + below(4096),
                                 512 * (1 + below(64)),
                                 2 * kMiB,
                                 2 * kMiB,
                                 20 * kMiB,
                                 2 * kMiB * (6 + below(12)),
                                 kMiB + below(3 * kMiB)};
    return std::min(sizes[below(7)], most);
  }

  // False: there is no memory.
  bool allocate(std::size_t size, Block::Kind kind) {
    Block block;
    block.kind = kind;
    block.size = size;
    CUresult result = CUDA_SUCCESS;
    std::size_t pitch = 0;
    switch (kind) {
      case Block::plain:
        result = cuMemAlloc(&block.at, size);
        break;
      case Block::pitched:
        result = cuMemAllocPitch(&block.at, &pitch, (size + 6) / 7, 7, 4);
        block.size = pitch * 7;
        break;
      case Block::ordered:
        result = cuMemAllocAsync(&block.at, size, stream_);
        break;
      case Block::mapped:
        result = map(block);
        break;
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
    need(result, "an allocation");
    CUdeviceptr base = 0;
    std::size_t whole = 0;
    if (kind != Block::mapped) {
      NEED(cuMemGetAddressRange(&base, &whole, block.at + block.size / 2));
      if (base != block.at || whole != block.size) fail("an address range");
    }
    held_ += block.size;
    block.words.resize((block.size + kProbe - 1) / kProbe + 1);
    blocks_.push_back(std::move(block));
    write(blocks_.back());
    return true;
  }

  void write(Block& block) {
    const auto value = static_cast<std::uint32_t>(random_());
    if (block.size >= 4) NEED(cuMemsetD32Async(block.at, value, block.size / 4, stream_));
    std::fill(block.words.begin(), block.words.end(), value);
  }

  CUdeviceptr word(const Block& block, std::size_t w) const {
    return block.at + (w + 1 == block.words.size() ? block.size / 4 * 4 - 4 : w * kProbe);
  }

  void change(Block& block) {
    if (block.size < 4) return;
    const std::size_t last = block.words.size() - 1;
    for (int k = 0; k < 3; ++k) {
      std::size_t w = below(block.words.size());
      if (w * kProbe / 4 >= block.size / 4 - 1) w = last;
      const bool same = w != last && word(block, w) == word(block, last);
      std::uint32_t number = static_cast<std::uint32_t>(below(1000));
      CUdeviceptr p = word(block, w);
      void* parameters[] = {&p, &number};
      NEED(cuLaunchKernel(mix_, 1, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr));
      block.words[w] = block.words[w] * 31 + number;
      if (same) block.words[last] = block.words[w];
    }
  }

  void check(const Block& block) {
    if (block.size < 4) return;
    std::vector<char> bytes(block.size);
    NEED(cuMemcpyDtoHAsync(bytes.data(), block.at, block.size, stream_));
    NEED(cuStreamSynchronize(stream_));
    const std::size_t last = block.words.size() - 1;
    for (std::size_t w = 0; w < block.words.size(); ++w) {
      if (w != last && w * kProbe / 4 >= block.size / 4 - 1) continue;
      std::uint32_t found = 0;
      std::memcpy(&found, bytes.data() + (word(block, w) - block.at), 4);
      if (found != block.words[w]) {
        std::printf("block of %zu bytes at %llx, word %zu: %x instead of %x\n", block.size,
                    static_cast<unsigned long long>(block.at), w, found, block.words[w]);
        std::exit(4);
      }
    }
  }

  void free(std::size_t b) {
    Block block = std::move(blocks_[b]);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
    held_ -= block.size;
    if (block.kind == Block::mapped) return unmap(block);
    if (block.kind == Block::ordered)
      NEED(cuMemFreeAsync(block.at, stream_));
    else
      NEED(cuMemFree(block.at));
    if (block.kind != Block::ordered && cuMemFree(block.at) != CUDA_ERROR_INVALID_VALUE)
      fail("a double free");
  }

  void step(std::size_t most) {
    const std::uint64_t what = below(10);
    if (blocks_.empty() || (what < 4 && held_ < most)) {
      const auto kind = static_cast<Block::Kind>(below(4));
      if (!allocate(some_size(most - held_), kind) && !blocks_.empty()) free(below(blocks_.size()));
    } else if (what < 5) {
      free(below(blocks_.size()));
    } else if (what < 8) {
      change(blocks_[below(blocks_.size())]);
    } else {
      check(blocks_[below(blocks_.size())]);
    }
    std::size_t free_bytes = 0, total = 0;
    NEED(cuMemGetInfo(&free_bytes, &total));
    if (free_bytes > total) fail("the memory's size");
  }

  void work(std::uint64_t us) { work(us, stream_); }
  void work(std::uint64_t us, CUstream stream) {
    std::uint64_t ns = us * 1000;
    void* parameters[] = {&ns};
    NEED(cuLaunchKernel(spin_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  // One word becomes 31 times itself plus one, after a while.
  void mix_late(CUdeviceptr at, CUstream stream) {
    std::uint32_t one = 1;
    void* parameters[] = {&at, &one};
    work(30'000, stream);
    NEED(cuLaunchKernel(mix_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  void wait() { NEED(cuStreamSynchronize(stream_)); }
  void check_all() {
    for (const Block& block : blocks_) check(block);
  }
  void free_all() {
    while (!blocks_.empty()) free(blocks_.size() - 1);
  }
  std::vector<Block>& blocks() { return blocks_; }
  std::size_t held() const { return held_; }

  [[noreturn]] static void fail(const char* what) {
    std::printf("%s is wrong\n", what);
    std::exit(5);
  }

 private:
  // As PyTorch's expandable segments: addresses first, then pieces of memory behind them.
  CUresult map(Block& block) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const std::size_t piece = 2 * kMiB * (1 + below(5));
    const std::size_t pieces = (block.size + piece - 1) / piece;
    block.size = pieces * piece;
    NEED(cuMemAddressReserve(&block.at, block.size, 0, 0, 0));
    for (std::size_t p = 0; p < pieces; ++p) {
      CUmemGenericAllocationHandle handle = 0;
      const CUresult result = cuMemCreate(&handle, piece, &properties, 0);
      if (result != CUDA_SUCCESS) {
        unmap(block);
        return result;
      }
      block.handles.push_back(handle);
      NEED(cuMemMap(block.at + p * piece, piece, 0, handle, 0));
    }
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    NEED(cuMemSetAccess(block.at, block.size, &access, 1));
    return CUDA_SUCCESS;
  }

  void unmap(Block& block) {
    NEED(cuStreamSynchronize(stream_));
    if (!block.handles.empty()) {
      const std::size_t piece = block_piece(block);
      NEED(cuMemUnmap(block.at, piece * block.handles.size()));
    }
    for (const CUmemGenericAllocationHandle handle : block.handles) NEED(cuMemRelease(handle));
    NEED(cuMemAddressFree(block.at, block.size));
  }
  // Of a block that may lack its last pieces.
  static std::size_t block_piece(const Block& block) {
    std::size_t size = 0;
    CUdeviceptr base = 0;
    NEED(cuMemGetAddressRange(&base, &size, block.at));
    return size;
  }

  std::mt19937_64 random_;
  CUmodule module_ = nullptr;
  CUfunction mix_ = nullptr, spin_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<Block> blocks_;
  std::size_t held_ = 0;
};

// So many random steps, each followed by a wait now and then, so that turns can end.
int random_steps(Program& program, int steps, std::size_t most) {
  for (int s = 0; s < steps; ++s) {
    program.step(most);
    if (program.below(4) == 0) program.wait();
  }
  program.check_all();
  program.free_all();
  std::printf("random %d\n", steps);
  return 0;
}

// A state of that size in blocks of `each` bytes, and jobs that change a little of it; until there is a
// file, if one is named.
int holds(Program& program, int jobs, std::size_t most, std::size_t each, const char* file) {
  while (program.held() + each + 4 * kMiB <= most)
    if (!program.allocate(each, Block::plain)) {
      std::printf("no memory at %zu\n", program.held() / kMiB);
      return 6;
    }
  program.allocate(most > program.held() ? most - program.held() : 4, Block::plain);
  program.wait();
  std::printf("holds %zu\n", program.held() / kMiB);
  std::fflush(stdout);
  int job = 0;
  for (; file != nullptr ? access(file, F_OK) != 0 : job < jobs; ++job) {
    for (Block& block : program.blocks()) program.change(block);
    program.work(1000);
    program.wait();
    if (job % 16 == 0) program.check_all();
  }
  program.check_all();
  std::printf("jobs %s\n", file != nullptr ? "many" : std::to_string(job).c_str());
  return 0;
}

// A state, and in each job memory that is allocated and freed in a stream's order: always the same, or
// another half the time.
int churns(Program& program, int jobs, std::size_t most) {
  while (program.held() + 20 * kMiB <= most)
    if (!program.allocate(20 * kMiB, Block::plain)) return 6;
  for (int job = 0; job < jobs; ++job) {
    const std::size_t before = program.blocks().size();
    for (int k = 0; k < 4; ++k)
      if (!program.allocate((program.below(2) == 0 ? 2 : 3 + program.below(6)) * kMiB, Block::ordered))
        return 6;
    for (Block& block : program.blocks()) program.change(block);
    program.work(1000);
    if (job % 16 == 0) program.check_all();
    while (program.blocks().size() > before) program.free(program.blocks().size() - 1);
    if (job % 4 == 0) program.wait();
  }
  program.check_all();
  std::printf("churns %d\n", jobs);
  return 0;
}

// 40 MiB that kernels only read, beside a state that changes; until there is a file. The 40 MiB are set again
// now and then, or, with `spoils`, a kernel writes to them.
int reads(Program& program, bool spoils, const char* file) {
  if (!program.allocate(40 * kMiB, Block::plain) || !program.allocate(20 * kMiB, Block::plain)) return 6;
  program.wait();
  std::printf("holds %zu\n", program.held() / kMiB);
  std::fflush(stdout);
  for (int job = 1; access(file, F_OK) != 0; ++job) {
    program.change(program.blocks()[1]);
    if (spoils && job > 20 && job % 8 == 0) program.change(program.blocks()[0]);
    if (!spoils && job % 64 == 0) program.write(program.blocks()[0]);
    program.work(1000);
    program.wait();
    if (job % 16 == 0) program.check_all();
  }
  program.check_all();
  std::printf("jobs many\n");
  return 0;
}

// How much memory it gets, in pieces of a mebibyte.
int takes(Program& program) {
  int got = 0;
  while (program.allocate(kMiB, Block::plain)) ++got;
  std::printf("takes %d\n", got);
  program.check_all();
  program.free_all();
  return 0;
}

void wait_for_file(const std::string& name) {
  while (access(name.c_str(), F_OK) != 0) usleep(1000);
}

CUdeviceptr allocate_in(CUstream stream, std::size_t size, std::uint32_t value) {
  CUdeviceptr at = 0;
  NEED(cuMemAllocAsync(&at, size, stream));
  NEED(cuMemsetD32Async(at, value, size / 4, stream));
  return at;
}

cuuint64_t told(CUmemoryPool pool, CUmemPool_attribute attribute) {
  cuuint64_t value = 0;
  NEED(cuMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void check_words(CUdeviceptr at, std::size_t size, std::uint32_t value) {
  std::vector<std::uint32_t> words(size / 4);
  NEED(cuMemcpyDtoH(words.data(), at, size));
  if (std::any_of(words.begin(), words.end(), [&](std::uint32_t word) { return word != value; }))
    Program::fail("memory freed in a stream's order");
}

// Memory freed in a stream's order, while its last use is still to come: who may have it, and when.
int ordered(Program& program, const std::string& file) {
  constexpr std::size_t kSize = 3 * kMiB;
  CUstream one = nullptr, other = nullptr;
  NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
  NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));

  const CUdeviceptr first = allocate_in(one, kSize, 1);
  program.mix_late(first, one);
  NEED(cuMemFreeAsync(first, one));
  const CUdeviceptr second = allocate_in(one, kSize - 512, 2);  // of the same size class
  CUdeviceptr base = 0;
  std::size_t size = 0;
  NEED(cuMemGetAddressRange(&base, &size, second + 100));
  std::printf("in the same stream: %s, %zu\n", second == first ? "at once" : "elsewhere", size);
  program.mix_late(second, one);
  NEED(cuMemFreeAsync(second, one));
  const CUdeviceptr third = allocate_in(other, kSize, 3);
  std::printf("in another: %s\n", third == second ? "at once" : "elsewhere");
  NEED(cuStreamSynchronize(one));
  check_words(third, kSize, 3);

  // A stream with the destroyed one's handle does not wait for its work.
  program.mix_late(third, other);
  NEED(cuMemFreeAsync(third, other));
  NEED(cuStreamDestroy(other));
  NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr fourth = allocate_in(other, kSize, 4);
  std::printf("in a new one: %s\n", fourth == third ? "at once" : "elsewhere");
  NEED(cuStreamSynchronize(other));
  usleep(100'000);
  check_words(fourth, kSize, 4);

  program.work(30'000, other);
  NEED(cuMemFreeAsync(fourth, other));
  if (cuMemFreeAsync(fourth, other) != CUDA_ERROR_INVALID_VALUE) Program::fail("a double free");
  if (cuMemFree(fourth) != CUDA_ERROR_INVALID_VALUE) Program::fail("a double free");

  // What a pool counts, and what it keeps.
  CUmemoryPool pool = nullptr;
  CUdevice device = 0;
  NEED(cuDeviceGet(&device, 0));
  NEED(cuDeviceGetDefaultMemPool(&pool, device));
  CUdeviceptr some = 0;
  NEED(cuMemAlloc(&some, kMiB));
  NEED(cuMemFree(some));  // it waits, and looks at what was freed before
  cuuint64_t zero = 0;
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
  const CUdeviceptr counted = allocate_in(one, 3 * kMiB + 4, 0);
  program.work(30'000, one);
  NEED(cuMemFreeAsync(counted, one));
  const CUdeviceptr other_size = allocate_in(one, kMiB, 0);
  const auto print_counts = [&] {
    std::printf("used %llu, most %llu; held %llu, most %llu\n",
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)),
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH)),
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)),
                static_cast<unsigned long long>(told(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)));
  };
  print_counts();
  NEED(cuMemFree(other_size));
  print_counts();
  for (const cuuint64_t kept : {cuuint64_t{0}, ~cuuint64_t{0}}) {
    cuuint64_t threshold = kept;
    NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    const CUdeviceptr large = allocate_in(one, 100 * kMiB, 5);
    const CUdeviceptr behind = allocate_in(one, 4 * kMiB, 5);
    NEED(cuMemFreeAsync(large, one));
    NEED(cuStreamSynchronize(one));
    if (kept == 0) NEED(cuMemFree(behind));
    std::printf("keeps %s\n", kept == 0 ? "nothing" : "all");
    std::fflush(stdout);
    wait_for_file(file + (kept == 0 ? ".1" : ".2"));
  }
  CUdeviceptr all = 0;  // there is no room for it beside what the pool keeps
  NEED(cuMemAlloc(&all, 120 * kMiB));
  NEED(cuMemFree(all));
  NEED(cuMemFreeAsync(allocate_in(one, 100 * kMiB, 6), one));
  NEED(cuStreamSynchronize(one));
  NEED(cuMemPoolTrimTo(pool, 0));
  std::printf("trimmed\n");
  std::fflush(stdout);
  wait_for_file(file + ".3");

  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool own = nullptr;
  NEED(cuMemPoolCreate(&own, &properties));
  cuuint64_t all_of_it = ~cuuint64_t{0};
  NEED(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all_of_it));
  zero = 0;
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero));
  CUdeviceptr of_own = 0;
  NEED(cuMemAllocFromPoolAsync(&of_own, 100 * kMiB, own, one));
  NEED(cuMemFreeAsync(of_own, one));
  NEED(cuStreamSynchronize(one));
  NEED(cuMemPoolDestroy(own));
  std::printf("destroyed\n");
  std::fflush(stdout);
  wait_for_file(file + ".4");

  // A threshold bounds all that the pool has, so what is used counts.
  cuuint64_t bound = 100 * kMiB;
  NEED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bound));
  const CUdeviceptr used = allocate_in(one, 70 * kMiB, 7);
  NEED(cuMemFreeAsync(allocate_in(one, 70 * kMiB, 8), one));
  NEED(cuStreamSynchronize(one));
  NEED(cuMemAlloc(&some, kMiB));
  NEED(cuMemFree(some));
  std::printf("bounded\n");
  std::fflush(stdout);
  wait_for_file(file + ".5");
  check_words(used, 70 * kMiB, 7);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Program program(std::strtoull(argv[2], nullptr, 10));
  const int steps = std::atoi(argv[3]);
  const std::size_t most = std::strtoull(argv[4], nullptr, 10) * kMiB;
  if (std::strcmp(argv[1], "random") == 0) return random_steps(program, steps, most);
  if (std::strcmp(argv[1], "holds") == 0)
    return holds(program, steps, most, 20 * kMiB, argc > 5 ? argv[5] : nullptr);
  if (std::strcmp(argv[1], "large") == 0)
    return holds(program, steps, most, most - 4 * kMiB, argc > 5 ? argv[5] : nullptr);
  if (std::strcmp(argv[1], "takes") == 0) return takes(program);
  if (std::strcmp(argv[1], "churns") == 0) return churns(program, steps, most);
  if (argc > 5 && std::strcmp(argv[1], "ordered") == 0) return ordered(program, argv[5]);
  if (argc > 5 && std::strcmp(argv[1], "reads") == 0) return reads(program, false, argv[5]);
  if (argc > 5 && std::strcmp(argv[1], "spoils") == 0) return reads(program, true, argv[5]);
  return 2;
}
