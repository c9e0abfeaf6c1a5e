// The program's memory, allocated in every way that there is, and what must be in it.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "tests/standin/kernels/kernels.hpp"

namespace gangway::memory_client {

inline constexpr std::size_t kMiB = 1 << 20, kProbe = 64 << 10;  // bytes between words that are looked at

inline void need(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: error %d\n", what, static_cast<int>(result));
  std::exit(3);
}
#define NEED(call) ::gangway::memory_client::need(call, #call)

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
    NEED(cuModuleLoadData(&module_, standin::kernel_image));
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
    blocks_.push_back(std::move(block));
    fill(blocks_.back());
    return true;
  }

  // The first contents of memory that somebody has allocated.
  void fill(Block& block) {
    block.words.resize((block.size + kProbe - 1) / kProbe + 1);
    write(block);
  }

  void write(Block& block) {
    const auto value = static_cast<std::uint32_t>(random_());
    if (block.size >= 4) NEED(cuMemsetD32Async(block.at, value, block.size / 4, stream_));
    std::fill(block.words.begin(), block.words.end(), value);
  }

  // Its first word, by an operation on words in memory.
  void set_word(Block& block, bool in_a_batch) {
    const auto value = static_cast<std::uint32_t>(random_());
    CUstreamBatchMemOpParams operation{};
    operation.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = block.at;
    operation.writeValue.value = value;
    if (in_a_batch)
      NEED(cuStreamBatchMemOp(stream_, 1, &operation, 0));
    else
      NEED(cuStreamWriteValue32(stream_, block.at, value, 0));
    block.words.front() = value;
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
  // One word becomes 31 times itself plus one.
  void mix(CUdeviceptr at, CUstream stream) {
    std::uint32_t one = 1;
    void* parameters[] = {&at, &one};
    NEED(cuLaunchKernel(mix_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  // Likewise, after a while.
  void mix_late(CUdeviceptr at, CUstream stream) {
    work(30'000, stream);
    mix(at, stream);
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
  CUstream stream() const { return stream_; }

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

}  // namespace gangway::memory_client
