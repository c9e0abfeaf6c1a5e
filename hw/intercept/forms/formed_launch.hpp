// A launch of a kernel in a form, with copies of all that is needed to make it again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "hw/intercept/forms/loaded_kernels.hpp"
#include "hw/intercept/forms/looks.hpp"
#include "hw/intercept/forms/real_calls.hpp"
#include "hw/live/launch_book.hpp"
#include "hw/transform/rewrite.hpp"

namespace gangway::intercept {

// The arguments of the program's call.
struct LaunchCall {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared_bytes = 0;
  CUstream stream = nullptr;
  const CUlaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

class FormedLaunch : public live::RepeatableLaunch {
 public:
  // `form`: one of the kernel's; the kernel must outlive the launch. `stream`: the program's; for a default
  // stream, its special handle. `resident`: blocks that the GPU holds at once, which limits a loop and is a
  // wave of slices; 0: not known. Null: forms do not support this kind of call, or its parameters cannot be
  // read.
  static std::unique_ptr<FormedLaunch> of(const LaunchCall& call, CUstream stream, FormedKernel& kernel,
                                          const ReadyForm& form, std::uint32_t resident);
  // Where a launch finds its control word and its HostWord (hw/transform/rewrite.hpp), on the device.
  struct Words {
    CUdeviceptr control = 0, host = 0;
  };

  std::uint32_t blocks() const override { return blocks_; }
  CUstream stream() const { return stream_; }
  bool waits_for_later_blocks() override { return !kernel_->waits.exchange(true); }
  bool known_to_wait() const override { return kernel_->waits.load(); }
  std::string kernel() const override { return kernel_->kernel.kernel; }
  bool says_when_it_leaves() const override { return loops_; }
  bool sliced() const override { return sliced_; }
  live::SlicedKernel of_slices() const override { return kernel_->shapes.of(shape()); }
  void slice_took(std::uint32_t blocks, std::int64_t ns) override {
    kernel_->shapes.took(shape(), blocks, ns);
  }
  // The blocks from `first` to before `end`.
  CUresult submit(CUstream where, const Words& words, std::uint32_t first, std::uint32_t end) const;
  // For a launch in slices: launches one block that does nothing. The driver refuses it if it would refuse a
  // slice.
  CUresult try_one(CUstream where) const { return submit(where, {}, 0, 0, 1); }
  // The driver accepts or refuses launches with equal keys alike; none: this launch has attributes.
  using Asked = std::tuple<CUfunction, unsigned, unsigned, unsigned, unsigned>;
  std::optional<Asked> asked() const;
  // Writes the control word to host memory, by that memory's device address.
  CUfunction report() const { return kernel_->report; }
  static CUresult report(CUfunction kernel, CUstream where, CUdeviceptr control, CUdeviceptr to);

 private:
  CUresult submit(CUstream where, const Words& words, std::uint32_t first, std::uint32_t end,
                  unsigned blocks) const;
  // In the last wave nobody looks: hardly a block is left to be refused, and who looks would end last.
  std::uint32_t look_before(std::uint32_t end) const {
    return looks_ != kNobodyLooks && end > resident_ ? end - resident_ : 0;
  }
  SlicedShapes::Shape shape() const {
    return {blocks_, block_[0] * block_[1] * block_[2], shared_bytes_, resident_};
  }

  FormedKernel* kernel_ = nullptr;
  CUfunction function_ = nullptr;
  CUstream stream_ = nullptr;
  unsigned grid_[3] = {1, 1, 1}, block_[3] = {1, 1, 1}, shared_bytes_ = 0;
  std::uint32_t blocks_ = 0, resident_ = 0, hidden_ = 0;
  std::uint32_t looks_ = kNobodyLooks;
  bool sliced_ = false, loops_ = false;
  std::vector<CUlaunchAttribute> attributes_;
  std::vector<std::byte> parameters_;  // the kernel's own, and room for the hidden ones
};

}  // namespace gangway::intercept
