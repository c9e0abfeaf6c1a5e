// The launch book's device: control words in the context's memory, its own streams of the highest priority,
// and words in host memory for orders and counts.
//
// An order to leave goes two ways. The host writes its own word, which some blocks look at (measured on an
// H200: 8 us sooner), and the own stream writes the control word. The order by the stream must arrive, also
// at kernels that have not begun; the host's word only makes it faster.
//
// Everything is allocated at the context's first launch in a form: pinning memory later could block the
// driver. Behind a kernel the stream gets an event, and behind that a wait for the control word's count
// (cuStreamWaitValue32), which holds it. Measured on an H100: a satisfied wait costs 1.4 us of device time, a
// number written by the stream 1.7 us, so nothing is put behind the wait. Therefore a word is used again only
// when a later launch of its stream has gone; the last word of a stream that is destroyed with work
// outstanding is never used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hw/intercept/forms/formed_launch.hpp"
#include "hw/live/launch_book.hpp"

namespace gangway::intercept {

class DriverPort : public live::LaunchPort {
 public:
  static constexpr std::size_t kBeside = 2;  // streams for what is launched again
  // Of the device's queues for the context: what its own streams take at once. One of them only copies, and
  // copies have queues of their own.
  static constexpr std::size_t kOwnQueues = kBeside + 2;
  // From now on, handles of functions may mean other functions or allow other launches.
  static void functions_change() { changes_.fetch_add(1); }
  // None: the context cannot have one.
  static std::unique_ptr<DriverPort> open(CUcontext context);
  ~DriverPort() override;

  std::optional<live::Word> take() override;
  void give_back(live::Word word) override;
  void retire(live::Word word, std::uint64_t stream, std::uint32_t number) override;
  live::Submitted launch(const live::RepeatableLaunch& launch, std::uint64_t stream, live::Word word,
                         std::uint32_t number) override;
  std::uint32_t gone(std::uint64_t stream) override;
  void flag(const std::vector<live::Word>& words, bool up) override;
  void rehearse() override;
  std::optional<std::uint32_t> left(live::Word word) override;
  bool expect(const live::RepeatableLaunch& launch, live::Word word) override;
  void stop_expecting(live::Word word) override;
  bool ask(const live::RepeatableLaunch& launch, live::Word word) override;
  bool again(const live::RepeatableLaunch& launch, std::uint64_t stream, live::Word word,
             std::uint32_t first) override;
  std::optional<std::uint32_t> count(live::Word word) override;
  bool look(const live::RepeatableLaunch& launch, live::Word word) override;
  std::optional<std::uint32_t> looked(live::Word word) override;
  void drop_look(live::Word word) override;
  bool join(const live::RepeatableLaunch& launch, live::Word word, std::uint32_t first,
            std::uint32_t end) override;
  bool slice(const live::RepeatableLaunch& launch, std::uint32_t first, std::uint32_t end) override;
  std::optional<std::int64_t> slice_over() override;
  std::int32_t refusal() override { return refusal_; }
  void failed(const live::RepeatableLaunch& launch, std::int32_t error) override;
  std::int64_t now() override;
  void finish(live::Word word, std::uint32_t blocks) override;
  bool owes() override;
  void forget(std::uint64_t stream, bool passed) override;
  bool lost() override;

 private:
  static constexpr std::size_t kWordBytes = 16;
  struct Seen;                                            // by both sides, in host memory
  struct Place {                                          // a stream
    std::deque<std::pair<std::uint32_t, CUevent>> going;  // launches by number, and the events behind them
    std::deque<std::pair<std::uint32_t, live::Word>> retired;
    std::uint32_t gone = 0;
  };
  explicit DriverPort(CUcontext context) : context_(context) {}
  bool allocate();
  CUdeviceptr address(live::Word word) const { return words_ + kWordBytes * CUdeviceptr{word}; }
  CUdeviceptr of_host(const volatile void* at) const;
  FormedLaunch::Words words(live::Word word) const;
  void reset(live::Word word);
  CUevent event();
  void note(CUresult result);
  using Reports = std::map<live::Word, std::uint32_t>;  // awaited counts: their places in `seen_`
  void drop(Reports& reports, live::Word word);
  CUresult report(Reports& reports, live::Word word, CUstream stream, CUfunction kernel);
  void let_report();
  void report_behind(CUstream stream, live::Word word, CUfunction kernel);
  bool accepts(const FormedLaunch& launch);
  bool done(CUresult result);
  CUresult behind_orders(CUstream stream);
  bool ask_for(Reports& reports, const live::RepeatableLaunch& launch, live::Word word);
  std::optional<std::uint32_t> answer(Reports& reports, live::Word word);
  bool begin(CUstream stream, const FormedLaunch& launch, live::Word word, std::uint32_t first,
             std::uint32_t end);
  CUresult submit(CUstream stream, const std::vector<CUstreamBatchMemOpParams>& operations);
  void order(std::vector<CUstreamBatchMemOpParams> operations);
  CUresult repeat_refused();

  CUcontext context_;
  CUdeviceptr words_ = 0, seen_address_ = 0;
  Seen* seen_ = nullptr;
  CUstream own_ = nullptr, looking_ = nullptr, expecting_ = nullptr;
  std::vector<CUstream> beside_;
  struct Aside {  // for blocks that join others
    CUstream stream = nullptr;
    std::optional<live::Word> word = {};  // of the blocks under way
  };
  std::vector<Aside> aside_;
  CUevent begun_ = nullptr;
  CUevent slice_begins_ = nullptr, slice_ends_ = nullptr;
  bool slice_runs_ = false, slice_timed_ = false;
  std::vector<live::Word> free_;
  std::deque<std::pair<live::Word, std::uint32_t>>
      used_;  // returned words, and the order after which they are 0
  std::uint32_t orders_ = 0;
  std::deque<std::vector<CUstreamBatchMemOpParams>> refused_;  // orders, by the driver
  std::int64_t refused_since_ = 0;
  std::map<std::uint64_t, Place> places_;
  std::vector<CUevent> events_;  // unused
  Reports reports_, looks_;
  // The one that is expected: a report that waits in `expecting_` until the host lets it begin
  // (Seen::wanted).
  struct Expected {
    live::Word word;
    std::uint32_t report;
  };
  std::optional<Expected> expected_;
  std::uint32_t expectations_ = 0;
  struct Owed {  // a report that the driver has refused so far
    CUstream stream;
    CUfunction kernel;
  };
  std::map<live::Word, Owed> owed_;
  std::int32_t refusal_ = 0;
  std::set<FormedLaunch::Asked> accepted_;
  std::uint64_t changes_seen_ = 0;
  inline static std::atomic<std::uint64_t> changes_{0};
  std::vector<std::uint32_t> free_reports_, dropped_;  // dropped: no longer awaited, but still to come
  std::int64_t looked_ = 0;
  bool lost_ = false;
  bool failed_ = false;  // a launch has failed: the program gets its error from now on
};

}  // namespace gangway::intercept
