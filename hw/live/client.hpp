// The daemon's side of one client: its connection, process and pages.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hw/live/conductor.hpp"
#include "hw/live/memory/keeper.hpp"
#include "hw/live/socket.hpp"

namespace gangway::live {

// Memory shared with a client as a file whose size is sealed, so that nobody can truncate it under the other.
template <typename Page>
class SharedPage {
 public:
  enum class Writer { daemon, client };
  // A writable mapping here; where the daemon writes, all later mappings can only read. Throws RunError.
  explicit SharedPage(Writer writer);
  // Of a client that returns: its file, which must be such memory of that size, sealed. Throws RunError.
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
  // `page`: its own, of a client that returns; else none. RunError where there is no memory to share, or that
  // is no such page.
  LiveClient(pid_t process, Descriptor pidfd, std::string name, int bell, Descriptor page = Descriptor());
  void connect(Descriptor socket) { socket_ = std::move(socket); }
  // Shakes hands: false when the other side is gone.
  bool welcome(std::int64_t daemon, bool held);

  // With a keeper the permit takes effect when the client's state is on the device.
  void permit(std::uint32_t allowed) override;
  void kept_by(Keeper& keeper) { keeper_ = &keeper; }
  bool arrives() override { return keeper_ != nullptr && keeper_->arrives(*this); }
  void let_in(std::uint32_t allowed) override;
  Memory memory() override;
  void order(Goal goal, std::uint32_t number) override;
  void budget(std::uint64_t bytes) override { permit_->memory.budget.store(bytes); }
  void available(std::uint64_t bytes) override { permit_->memory.available.store(bytes); }
  void host(std::uint64_t bytes) override;
  void refuse(std::uint64_t asked) override { permit_->memory.refused.store(asked); }
  void not_yet(std::uint64_t asked) override { permit_->memory.not_yet.store(asked); }
  void limit(std::optional<std::int64_t> channels) override {
    permit_->most_channels.store(
        channels ? static_cast<std::uint32_t>(std::min<std::int64_t>(*channels, INT32_MAX)) + 1 : 0);
  }
  void admit(std::uint64_t number) override { permit_->admitted.store(number); }
  Standing look() override;
  void ask() override;
  void kill() override;
  bool stopped() override;
  // When the client's jobs begin, which are counted from its start. As they come; or none but the one under
  // way.
  void release_all() { permit_->releases.kind.store(Releases::own); }
  void hold();
  // Of a client on hold: from `since` on and `think` after the last one's end, once release_until() says so.
  void release_from(std::int64_t since, Duration think);
  void release_until(std::uint64_t count);
  // Likewise: the next job when it is due. False: too many that were released have not begun.
  bool release_at(std::int64_t due);
  // Jobs that have begun, that are over, and whether one is under way.
  std::uint64_t jobs_begun() const { return (page_->counted.load() + 1) / 2; }
  std::uint64_t jobs_over() const { return page_->counted.load() / 2; }
  bool in_job() const { return (page_->counted.load() & 1) != 0; }
  // The times of a job, once it is over; of one under way without its end. None: it is too long ago.
  struct JobTimes {
    std::int64_t arrived = 0, begun = 0, ended = 0;  // CLOCK_MONOTONIC, ns; 0: not yet
  };
  std::optional<JobTimes> job(std::uint64_t number) const;

  void polled(bool polled) { permit_->polled.store(polled ? 1 : 0); }

  int socket() const { return socket_.get(); }
  pid_t process() const { return process_; }
  const std::string& name() const { return name_; }
  const ClientPage& page() const { return *page_; }

  ClientId id;
  std::uint64_t program = 0;
  Introduction introduction;
  uid_t user = 0;
  std::string group;  // empty: it is a client of its own

 private:
  Descriptor socket_, pidfd_, own_bell_;
  pid_t process_;
  std::string name_;
  int daemon_bell_;
  Keeper* keeper_ = nullptr;
  SharedPage<PermitPage> permit_{SharedPage<PermitPage>::Writer::daemon};
  SharedPage<ClientPage> page_;
};

}  // namespace gangway::live
