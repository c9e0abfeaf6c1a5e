// The daemon's side of one client: its connection, process and pages.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hw/live/checkpoint/checkpointed.hpp"
#include "hw/live/conductor.hpp"
#include "hw/live/memory/keeper.hpp"
#include "hw/live/memory/lender.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

// Shared memory in a file of sealed size, which neither side can truncate.
template <typename Page>
class SharedPage {
 public:
  enum class Writer { daemon, client };
  // A writable mapping. If the daemon is the writer, all later mappings are read-only. Throws RunError.
  explicit SharedPage(Writer writer);
  // The file of a returning client, which must be sealed memory of the right size. Throws RunError.
  explicit SharedPage(Descriptor file);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  Page& operator*() const { return *page_; }
  Page* operator->() const { return page_; }
  int file() const { return file_.get(); }

 private:
  Descriptor file_;
  Page* page_ = nullptr;
};

class LiveClient : public Port, public KeptClient {
 public:
  // `page`: the existing page of a returning client, else none. RunError if there is no memory to share or
  // the page is invalid.
  LiveClient(pid_t process, Descriptor pidfd, std::string name, int bell, Descriptor page = Descriptor());
  void connect(Descriptor socket) { socket_ = std::move(socket); }
  // Completes the handshake. False if the client is gone.
  bool welcome(std::int64_t daemon, bool held);

  // With a keeper the permit takes effect when the client's state is on the device.
  void permit(std::uint32_t allowed) override;
  void until_job(std::uint64_t last) override;
  void is_not_scheduled();  // its gate is open, for any job
  void rouse() override;
  void kept_by(Keeper& keeper) { keeper_ = &keeper; }
  // The driver will checkpoint the client, through the helper. Call it before Keeper::comes().
  void checkpointed_by(CheckpointHelper& helper, bool returns);
  // How the daemon moves memory, or would between GPUs. Also before Keeper::comes().
  void moved_by(MemoryMoves daemon) { moved_by_ = daemon; }
  void checkpoint_step();  // sends the helper its next order, if any
  void checkpointed(const CheckpointAnswer& answer);
  // Starts a move to another GPU, by the helper. False: not possible now. It is over when moves() is false;
  // then latest_move(), or the page if there was no answer, says where the client is.
  bool move(const GpuUuid& from, const GpuUuid& to);
  bool moves() const { return checkpointed_ && checkpointed_->moves(); }
  struct Moved {
    std::int32_t error = 0;  // the driver's
    std::int64_t ns = 0, save_ns = 0;
    bool moved = false;  // it is on the new GPU, despite any error
  };
  const Moved& latest_move() const { return latest_move_; }
  void is_on(const GpuUuid& uuid) { page_->is_on(uuid); }
  void helper_lost(CheckpointHelper& other) {
    helper_ = &other;
    if (checkpointed_) checkpointed_->lost();
  }
  // As Checkpointed::given_up().
  bool helper_given_up() { return !checkpointed_ || checkpointed_->given_up(); }
  // None: its memory is not counted, so the driver may not checkpoint it; as far as is known by now.
  const Checkpointed* checkpoints() const {
    return checkpointed_ && memory_kind() == MemoryKind::counted ? &*checkpointed_ : nullptr;
  }
  MemoryKind memory_kind() const { return static_cast<MemoryKind>(page_->memory.kind.load()); }
  bool arrives() override { return keeper_ != nullptr && keeper_->arrives(*this); }
  void let_in(std::uint32_t allowed) override;
  Memory memory() const override;
  void order(Goal goal, std::uint32_t number) override;
  void budget(std::uint64_t bytes) override;
  void available(std::uint64_t bytes) override { permit_->memory.available.store(bytes); }
  void host(std::uint64_t bytes) override;
  void refuse(std::uint64_t asked) override { permit_->memory.refused.store(asked); }
  void not_yet(std::uint64_t asked) override { permit_->memory.not_yet.store(asked); }
  // Users whom this namespace does not know have the same number.
  std::uint64_t owner() const override {
    constexpr uid_t kUnknown = 65534;
    return user != kUnknown ? user : (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(process_);
  }
  void pass(std::uint64_t size) override { permit_->memory.pass.store(size); }
  std::vector<PassedMemory> passed() override { return lender_.passed(); }
  bool lend(const PassedMemory& memory) override { return lender_.lend(memory); }
  void limit(std::optional<std::int64_t> channels) override {
    permit_->most_channels.store(
        !channels ? 0
        : *channels == kFirstContextOnly
            ? kNoChannels
            : static_cast<std::uint32_t>(std::min<std::int64_t>(*channels, INT32_MAX)) + 1);
  }
  void slice(std::uint32_t kernel, std::uint32_t until) override {
    permit_->slices.until.store(SliceOrders::both(kernel, until));
  }
  void admit(std::uint64_t number) override { permit_->admitted.store(number); }
  Standing look() override;
  void ask() override;
  void kill() override;
  bool stopped() override;
  // For samples of its use of the GPU. begin_sample() asks the client which of its work is over, if some may
  // be under way; without `asks` that counts as work. works(): whether some was on the GPU when it answered;
  // none: it has not answered since.
  void begin_sample(bool asks);
  std::optional<bool> works() const;
  // Since the last call, or since it came to this daemon: jobs begun, submissions, and whether it was killed.
  // Whatever its page says, none is taken back.
  struct Work {
    std::uint64_t jobs = 0, submissions = 0, killed = 0;
  };
  Work new_work();
  // When jobs may begin. release_all(): at any time. hold(): none after those that have begun.
  void release_all() { permit_->releases.kind.store(Releases::own); }
  void hold();
  // For a client on hold: jobs begin from `since` on, and `think` after the previous one's end, up to the
  // number of release_until(), counted from the client's start.
  void release_from(std::int64_t since, Duration think);
  void release_until(std::uint64_t count);
  // For a client on hold: releases the next job at `due`. False if too many released jobs have not begun.
  bool release_at(std::int64_t due);
  // Jobs begun, jobs over, and whether one is under way.
  std::uint64_t jobs_begun() const { return (page_->counted.load() + 1) / 2; }
  std::uint64_t jobs_over() const { return page_->counted.load() / 2; }
  bool in_job() const { return (page_->counted.load() & 1) != 0; }
  // A job's times; no end while it is under way. None if it was too long ago.
  struct JobTimes {
    std::int64_t arrived = 0, begun = 0, ended = 0;  // CLOCK_MONOTONIC, ns; 0: not yet
  };
  std::optional<JobTimes> job(std::uint64_t number) const;

  // When kernels left before their end and when they continued, in ns of CLOCK_MONOTONIC.
  struct DepartureTimes {
    std::int64_t told = 0, left = 0, again = 0;  // again 0: not yet
    std::uint64_t kernels = 0;
  };
  std::uint64_t departures() const { return page_->departures.load(); }  // so far
  std::optional<DepartureTimes> departure(std::uint64_t number) const;   // none if it was too long ago
  std::optional<DepartureTimes> new_departure();  // the latest, if new since the last call

  // Kernels that turned out to wait for later blocks of their grid, and the latest one's name if there are
  // more since the last call.
  std::uint32_t kernels_that_wait() const { return page_->kernels_that_wait.load(); }
  std::optional<std::string> new_that_waits();

  void take(TakeForms forms, bool slices, Duration drain_limit) {
    permit_->slices.until.store(0);
    permit_->slices.wanted.store(slices ? 1 : 0);
    permit_->forms.store(static_cast<std::uint32_t>(forms));
    permit_->drain_limit.store(drain_limit.ns);
  }
  void polled(bool polled) { permit_->polled.store(polled ? 1 : 0); }
  void company(bool company) { permit_->company.store(company ? 1 : 0); }

  int socket() const { return socket_.get(); }
  pid_t process() const { return process_; }
  int process_descriptor() const { return pidfd_.get(); }  // readable when the process has ended
  const std::string& name() const { return name_; }
  const ClientPage& page() const { return *page_; }

  ClientId id;
  std::uint64_t program = 0;
  Introduction introduction;
  uid_t user = 0;
  std::int32_t highest_priority = 0;  // the highest that its user may give
  std::string group;                  // empty: a client of its own
  std::size_t gpu = 0;                // index among the daemon's

 private:
  Memory::Leaves leaves() const;
  std::optional<SlicedStanding> slices() const;
  bool outside(std::uint64_t job);

  Descriptor socket_, pidfd_, own_bell_;
  Lender lender_;
  pid_t process_;
  std::string name_;
  int daemon_bell_;
  Keeper* keeper_ = nullptr;
  std::uint32_t that_wait_ = 0;  // reported by new_that_waits()
  std::uint64_t departed_ = 0;   // reported by new_departure()
  std::uint64_t counted_ = 0;    // as of the last call of outside()
  bool outside_ = false;         // as in Standing
  std::optional<Checkpointed> checkpointed_;
  CheckpointHelper* helper_ = nullptr;
  MemoryMoves moved_by_ = MemoryMoves::none;
  std::uint64_t ticket_ = 0;
  GpuUuid moves_from_ = kNoGpu, moves_to_ = kNoGpu;
  Moved latest_move_;
  bool may_work_ = false;     // as of begin_sample()
  std::int64_t sampled_ = 0;  // it was asked then (CLOCK_MONOTONIC, ns); 0: it was not
  Work work_{};               // reported by new_work()
  bool killed_ = false;
  SharedPage<PermitPage> permit_{SharedPage<PermitPage>::Writer::daemon};
  SharedPage<ClientPage> page_;
};

}  // namespace gangway::live
