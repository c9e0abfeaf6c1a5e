#include "hw/intercept/forms/driver_port.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "hw/intercept/forms/failed_launch.hpp"
#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"

namespace gangway::intercept {
namespace {

using live::Word;

constexpr std::uint32_t kWords = (1 << 16) - 1, kReports = 1024;
constexpr Word kNobodys = kWords;                   // a word that is no launch's
constexpr std::size_t kAside = 2;                   // streams for what joins what waits for it
constexpr std::size_t kOperations = 64;             // of one call
constexpr std::uint32_t kUnknown = UINT32_MAX;      // no count is as large
constexpr std::int64_t kBetweenLooks = 5'000'000;   // ns, at whether the context is broken
constexpr std::int64_t kMostRefused = 100'000'000;  // ns, an order, as long as what launches need

CUstreamBatchMemOpParams write_32(CUdeviceptr address, std::uint32_t value) {
  CUstreamBatchMemOpParams made{};
  made.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  made.writeValue.address = address;
  made.writeValue.value = value;
  return made;
}

CUstreamBatchMemOpParams write_64(CUdeviceptr address, std::uint64_t value) {
  CUstreamBatchMemOpParams made{};
  made.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  made.writeValue.address = address;
  made.writeValue.value64 = value;
  return made;
}

std::uint32_t read(const std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}

void write(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(word).store(value, std::memory_order_release);
}

// The context answers, if only that it is busy, or that a capture is under way.
bool answers(CUresult result) {
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY ||
         (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
          result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

}  // namespace

struct DriverPort::Seen {
  struct alignas(8) Report {
    std::uint32_t count, flag;
  } report[kReports];
  transform::HostWord word[kWords + 1];
  std::uint32_t orders;  // of the own stream that are over
  std::uint32_t wanted;  // expected reports that may be made; the host writes it
};

std::unique_ptr<DriverPort> DriverPort::open(CUcontext context) {
  const RelaxedCapture relaxed;
  const CurrentContext current(context);
  std::unique_ptr<DriverPort> made(new DriverPort(context));
  if (!current.is() || !made->allocate()) return nullptr;
  return made;
}

bool DriverPort::allocate() {
  int lowest = 0, highest = 0;
  if (cuda.cuCtxGetStreamPriorityRange(&lowest, &highest) != CUDA_SUCCESS) return false;
  for (CUstream* const each : {&own_, &looking_, &expecting_})
    if (cuda.cuStreamCreateWithPriority(each, CU_STREAM_NON_BLOCKING, highest) != CUDA_SUCCESS) return false;
  beside_.resize(kBeside);
  for (CUstream& each : beside_)
    if (cuda.cuStreamCreateWithPriority(&each, CU_STREAM_NON_BLOCKING, highest) != CUDA_SUCCESS) return false;
  aside_.resize(kAside);
  for (Aside& each : aside_)
    if (cuda.cuStreamCreateWithPriority(&each.stream, CU_STREAM_NON_BLOCKING, highest) != CUDA_SUCCESS)
      return false;
  if (cuda.cuEventCreate(&begun_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
      cuda.cuEventCreate(&slice_begins_, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
      cuda.cuEventCreate(&slice_ends_, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
    return false;
  void* seen = nullptr;
  if (cuda.cuMemHostAlloc(&seen, sizeof(Seen), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) !=
      CUDA_SUCCESS)
    return false;
  seen_ = static_cast<Seen*>(seen);
  std::memset(seen, 0, sizeof(Seen));
  if (cuda.cuMemHostGetDevicePointer_v2(&seen_address_, seen, 0) != CUDA_SUCCESS) return false;
  constexpr std::size_t kBytes = kWordBytes * (kWords + 1);
  if (cuda.cuMemAlloc_v2(&words_, kBytes) != CUDA_SUCCESS) return false;
  if (cuda.cuMemsetD8Async(words_, 0, kBytes, own_) != CUDA_SUCCESS) return false;
  for (Word word = kWords; word-- > 0;) free_.push_back(word);
  for (std::uint32_t at = kReports; at-- > 0;) free_reports_.push_back(at);
  return submit(own_, {write_32(of_host(&seen_->orders), ++orders_)}) == CUDA_SUCCESS &&
         cuda.cuStreamSynchronize(own_) == CUDA_SUCCESS;
}

DriverPort::~DriverPort() {
  const RelaxedCapture relaxed;
  const CurrentContext current(context_);
  if (!current.is()) return;
  for (CUstream each : beside_)
    if (each != nullptr) cuda.cuStreamDestroy_v2(each);
  for (const Aside& each : aside_)
    if (each.stream != nullptr) cuda.cuStreamDestroy_v2(each.stream);
  if (seen_ != nullptr) let_report();  // what waits
  for (CUstream each : {own_, looking_, expecting_})
    if (each != nullptr) cuda.cuStreamDestroy_v2(each);
  for (CUevent each : {begun_, slice_begins_, slice_ends_})
    if (each != nullptr) cuda.cuEventDestroy_v2(each);
  for (const auto& [stream, place] : places_)
    for (const auto& [number, each] : place.going) cuda.cuEventDestroy_v2(each);
  for (CUevent each : events_) cuda.cuEventDestroy_v2(each);
  if (words_ != 0) cuda.cuMemFree_v2(words_);
  if (seen_ != nullptr) cuda.cuMemFreeHost(seen_);
}

CUdeviceptr DriverPort::of_host(const volatile void* at) const {
  return seen_address_ + static_cast<CUdeviceptr>(static_cast<const volatile char*>(at) -
                                                  reinterpret_cast<const volatile char*>(seen_));
}

FormedLaunch::Words DriverPort::words(Word word) const {
  return {address(word), of_host(&seen_->word[word])};
}

// Nothing on the device reads or writes it.
void DriverPort::reset(Word word) {
  write(seen_->word[word].order, 0);
  write(seen_->word[word].left, kUnknown);
}

void DriverPort::note(CUresult result) {
  if (!answers(result)) looked_ = 0;  // look at once
}

// What the book has asked for.
bool DriverPort::done(CUresult result) {
  note(result);
  refusal_ = result;
  return result == CUDA_SUCCESS;
}

void DriverPort::failed(const live::RepeatableLaunch& launch, std::int32_t error) {
  failed_ = true;
  launch_failed("the rest of the kernel " + launch.kernel(), static_cast<CUresult>(error));
}

CUresult DriverPort::submit(CUstream stream, const std::vector<CUstreamBatchMemOpParams>& operations) {
  const RelaxedCapture relaxed;
  const CurrentContext current(context_);
  const CUresult result =
      cuda.cuStreamBatchMemOp_v2(stream, static_cast<unsigned>(operations.size()),
                                 const_cast<CUstreamBatchMemOpParams*>(operations.data()), 0);
  note(result);
  return result;
}

// In the own stream. None may be lost, nor overtaken by a later one: a stream would never go on, or blocks
// run twice.
void DriverPort::order(std::vector<CUstreamBatchMemOpParams> operations) {
  refused_.push_back(std::move(operations));
  repeat_refused();
}

CUresult DriverPort::repeat_refused() {
  for (; !refused_.empty(); refused_.pop_front(), refused_since_ = 0) {
    const CUresult result = submit(own_, refused_.front());
    if (result == CUDA_SUCCESS) continue;
    if (lost()) {
      refused_.clear();
      return result;
    }
    if (refused_since_ == 0) refused_since_ = now();
    if (now() - refused_since_ > kMostRefused) {
      failed_ = true;
      launch_failed("an order to a kernel", result);
    }
    return result;
  }
  return CUDA_SUCCESS;
}

bool DriverPort::owes() {
  repeat_refused();
  return !refused_.empty();
}

CUevent DriverPort::event() {
  CUevent made = nullptr;
  const RelaxedCapture relaxed;
  if (events_.empty())
    return cuda.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS ? made : nullptr;
  made = events_.back();
  events_.pop_back();
  return made;
}

void DriverPort::forget(std::uint64_t stream, bool passed) {
  const auto found = places_.find(stream);
  if (found == places_.end()) return;
  if (passed)
    for (const auto& [number, word] : found->second.retired) give_back(word);
  for (const auto& [number, behind] : found->second.going) events_.push_back(behind);
  places_.erase(found);
}

// --- Words
// -------------------------------------------------------------------------------------------------

std::optional<Word> DriverPort::take() {
  const std::uint32_t over = read(seen_->orders);
  while (!used_.empty() && static_cast<std::int32_t>(over - used_.front().second) >= 0) {
    free_.push_back(used_.front().first);
    used_.pop_front();
  }
  if (free_.empty()) return std::nullopt;
  const Word word = free_.back();
  free_.pop_back();
  reset(word);
  return word;
}

void DriverPort::give_back(Word word) {
  drop(reports_, word);
  owed_.erase(word);
  order({write_64(address(word), 0), write_64(address(word) + 8, 0),
         write_32(of_host(&seen_->orders), ++orders_)});
  used_.emplace_back(word, orders_);
}

void DriverPort::retire(Word word, std::uint64_t stream, std::uint32_t number) {
  auto& retired = places_[stream].retired;
  retired.emplace_back(number, word);
  for (const std::uint32_t gone = this->gone(stream);
       !retired.empty() && static_cast<std::int32_t>(gone - retired.front().first) > 0; retired.pop_front())
    give_back(retired.front().second);
}

void DriverPort::flag(const std::vector<Word>& words, bool up) {
  for (const Word word : words) write(seen_->word[word].order, up ? 1 : 0);
#ifdef GANGWAY_POINTS  // test builds: only blocks that look at the host raise flags
  static const bool looks_alone = std::getenv("GANGWAY_LOOKS_ALONE") != nullptr;
  if (looks_alone && up) return;
#endif
  for (std::size_t first = 0; first < words.size(); first += kOperations) {
    std::vector<CUstreamBatchMemOpParams> orders;
    for (std::size_t w = first; w < std::min(words.size(), first + kOperations); ++w)
      orders.push_back(write_32(address(words[w]) + 4, up ? 1 : 0));
    order(std::move(orders));
  }
}

void DriverPort::rehearse() {
  if (refused_.empty()) flag({kNobodys}, true);
}

// The blocks that are there may leave no room for another kernel, so no order about flags stands behind this
// one. Where some wait for others that were refused, those have left room.
bool DriverPort::ask_for(Reports& reports, const live::RepeatableLaunch& launch, Word word) {
  refusal_ = 0;
  if (free_reports_.empty()) return false;
  return done(report(reports, word, looking_, static_cast<const FormedLaunch&>(launch).report()));
}

std::optional<std::uint32_t> DriverPort::left(Word word) {
  const std::uint32_t count = read(seen_->word[word].left);
  if (count == kUnknown) return std::nullopt;
  GANGWAY_POINT("last-block");
  return count;
}

// The report is submitted at once, so that a write of the host is all that it needs later. It waits for the
// host, not for the kernel, so that it never waits for long.
bool DriverPort::expect(const live::RepeatableLaunch& launch, Word word) {
  if (launch.says_when_it_leaves()) return false;
  if (expected_ || failed_ || free_reports_.empty()) return false;
  const RelaxedCapture relaxed;
  const CurrentContext current(context_);
  const CUresult waits = cuda.cuStreamWaitValue32_v2(expecting_, of_host(&seen_->wanted), expectations_ + 1,
                                                     CU_STREAM_WAIT_VALUE_GEQ);
  note(waits);
  if (waits != CUDA_SUCCESS) return false;
  ++expectations_;
  Reports made;
  const CUresult reports = report(made, word, expecting_, static_cast<const FormedLaunch&>(launch).report());
  note(reports);
  if (reports != CUDA_SUCCESS) {
    let_report();
    return false;
  }
  expected_ = Expected{word, made.at(word)};
  return true;
}

void DriverPort::let_report() { write(seen_->wanted, expectations_); }

void DriverPort::stop_expecting(Word word) {
  if (!expected_ || expected_->word != word) return;
  let_report();
  dropped_.push_back(expected_->report);
  expected_.reset();
}

// The kernel has gone, so no order changes its count.
bool DriverPort::ask(const live::RepeatableLaunch& launch, Word word) {
  if (expected_ && expected_->word == word) {
    refusal_ = 0;
    reports_[word] = expected_->report;
    expected_.reset();
    let_report();
    return true;
  }
  const CurrentContext current(context_);
  return ask_for(reports_, launch, word);
}

bool DriverPort::look(const live::RepeatableLaunch& launch, Word word) {
  const CurrentContext current(context_);
  refusal_ = 0;
  return done(behind_orders(looking_)) && ask_for(looks_, launch, word);
}

void DriverPort::drop_look(Word word) { drop(looks_, word); }

void DriverPort::drop(Reports& reports, Word word) {
  const auto awaited = reports.find(word);
  if (awaited == reports.end()) return;
  dropped_.push_back(awaited->second);
  reports.erase(awaited);
}

// What is submitted to the stream from now on is behind all orders so far.
CUresult DriverPort::behind_orders(CUstream stream) {
  CUresult result = repeat_refused();
  if (result == CUDA_SUCCESS) result = cuda.cuEventRecord(begun_, own_);
  return result == CUDA_SUCCESS ? cuda.cuStreamWaitEvent(stream, begun_, 0) : result;
}

// By a kernel: the driver has few queues of copies, and one of the program's that waits for the launch would
// hold up the copy that lets it go on.
CUresult DriverPort::report(Reports& reports, Word word, CUstream stream, CUfunction kernel) {
  std::erase_if(dropped_, [&](std::uint32_t at) {
    if (read(seen_->report[at].count) == kUnknown) return false;
    free_reports_.push_back(at);
    return true;
  });
  const std::uint32_t at = free_reports_.back();  // fewer streams than these can be held
  free_reports_.pop_back();
  reports[word] = at;
  seen_->report[at].count = kUnknown;
  const CUresult result = FormedLaunch::report(kernel, stream, address(word), of_host(&seen_->report[at]));
  if (result != CUDA_SUCCESS) {
    reports.erase(word);
    free_reports_.push_back(at);
  }
  return result;
}

// Behind a kernel that claims from the word. What the driver refuses is owed, and count() asks again.
void DriverPort::report_behind(CUstream stream, Word word, CUfunction kernel) {
  owed_.erase(word);
  if (free_reports_.empty() || !done(report(reports_, word, stream, kernel))) owed_[word] = {stream, kernel};
}

std::optional<std::uint32_t> DriverPort::answer(Reports& reports, Word word) {
  const auto awaited = reports.find(word);
  if (awaited == reports.end()) return std::nullopt;
  const std::uint32_t count = read(seen_->report[awaited->second].count);
  if (count == kUnknown) return std::nullopt;
  free_reports_.push_back(awaited->second);
  reports.erase(awaited);
  return count;
}

std::optional<std::uint32_t> DriverPort::count(Word word) {
  refusal_ = 0;
  if (const auto owed = owed_.find(word); owed != owed_.end()) {
    const RelaxedCapture relaxed;
    const CurrentContext current(context_);
    const Owed its = owed->second;
    report_behind(its.stream, word, its.kernel);
    // While the kernel is there, nothing is late.
    if (refusal_ != 0 && cuda.cuStreamQuery(its.stream) == CUDA_ERROR_NOT_READY) refusal_ = 0;
    return std::nullopt;
  }
  const auto found = answer(reports_, word);
  if (!found) return found;
  for (Aside& each : aside_)
    if (each.word == word) each.word.reset();
  return found;
}

std::optional<std::uint32_t> DriverPort::looked(Word word) { return answer(looks_, word); }

void DriverPort::finish(Word word, std::uint32_t blocks) { order({write_32(address(word), blocks)}); }

// --- Launches
// ----------------------------------------------------------------------------------------------

live::Submitted DriverPort::launch(const live::RepeatableLaunch& launch, std::uint64_t stream, Word word,
                                   std::uint32_t number) {
  const RelaxedCapture relaxed;
  const auto& formed = static_cast<const FormedLaunch&>(launch);
  const CUevent behind = event();
  if (behind == nullptr || free_reports_.empty()) return live::Submitted::no;
  if (formed.sliced() ? !accepts(formed)
                      : formed.submit(formed.stream(), words(word), 0, formed.blocks()) != CUDA_SUCCESS) {
    events_.push_back(behind);
    return live::Submitted::no;
  }
  if (cuda.cuEventRecord(behind, formed.stream()) != CUDA_SUCCESS ||
      cuda.cuStreamWaitValue32_v2(formed.stream(), address(word), formed.blocks(),
                                  CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
    if (!formed.sliced()) return live::Submitted::free;
    events_.push_back(behind);
    return live::Submitted::no;
  }
  places_[stream].going.emplace_back(number, behind);
  return live::Submitted::held;
}

std::uint32_t DriverPort::gone(std::uint64_t stream) {
  const RelaxedCapture relaxed;
  Place& its = places_[stream];
  while (!its.going.empty() && cuda.cuEventQuery(its.going.front().second) != CUDA_ERROR_NOT_READY) {
    its.gone = its.going.front().first;
    events_.push_back(its.going.front().second);
    its.going.pop_front();
  }
  return its.gone;
}

// The word is written in the own stream, so that an order to leave comes behind it.
bool DriverPort::again(const live::RepeatableLaunch& launch, std::uint64_t stream, Word word,
                       std::uint32_t first) {
  const auto& formed = static_cast<const FormedLaunch&>(launch);
  if (!begin(beside_[stream % beside_.size()], formed, word, first, formed.blocks())) return false;
  GANGWAY_POINT("again");
  return true;
}

bool DriverPort::join(const live::RepeatableLaunch& launch, Word word, std::uint32_t first,
                      std::uint32_t end) {
  refusal_ = 0;
  for (Aside& each : aside_) {
    if (each.word && !failed_) continue;  // what joins is not to stand behind what waits for it
    if (!begin(each.stream, static_cast<const FormedLaunch&>(launch), word, first, end)) return false;
    each.word = word;
    GANGWAY_POINT("joined");
    return true;
  }
  return false;
}

bool DriverPort::begin(CUstream stream, const FormedLaunch& launch, Word word, std::uint32_t first,
                       std::uint32_t end) {
  const CurrentContext current(context_);
  refusal_ = 0;
  if (free_reports_.empty()) return false;
  CUresult result = repeat_refused();
  drop(reports_, word);  // of what left and said so
  reset(word);
  if (result == CUDA_SUCCESS)
    result = submit(own_, {write_64(address(word), first), write_64(address(word) + 8, 0)});
  if (result == CUDA_SUCCESS) result = behind_orders(stream);
  if (result == CUDA_SUCCESS) result = launch.submit(stream, words(word), first, end);
  if (!done(result)) return false;
  report_behind(stream, word, launch.report());
  return true;
}

std::int64_t DriverPort::now() { return live::monotonic_ns(); }

bool DriverPort::lost() {
  const std::int64_t now = live::monotonic_ns();
  if (!lost_ && now - looked_ > kBetweenLooks) {
    looked_ = now;
    const CurrentContext current(context_);
    lost_ = !current.is() || !answers(cuda.cuStreamQuery(own_));
  }
  return lost_;
}

}  // namespace gangway::intercept
