#include "hw/live/client.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>

#include "hw/live/monotonic.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kLongestSliced = 1'000'000'000'000;  // ns, of a kernel

}  // namespace

template <typename Page>
SharedPage<Page>::SharedPage(Writer writer)
    : file_(memfd_create("gangway", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const int seals =
      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (writer == Writer::daemon ? F_SEAL_FUTURE_WRITE : 0);
  void* at = MAP_FAILED;
  if (file_ && ftruncate(file_.get(), sizeof(Page)) == 0)
    at = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED || fcntl(file_.get(), F_ADD_SEALS, seals) != 0)
    throw RunError(std::string("no memory to share with a client: ") + std::strerror(errno));
  page_ = static_cast<Page*>(at);
}

template <typename Page>
SharedPage<Page>::SharedPage(Descriptor file) : file_(std::move(file)) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  struct stat facts {};
  const int seals = fcntl(file_.get(), F_GET_SEALS);  // of memory files only
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(file_.get(), &facts) != 0 ||
      facts.st_size != static_cast<off_t>(sizeof(Page)))
    throw RunError("the page of a returning client is not valid");
  void* at = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED)
    throw RunError(std::string("a client's page cannot be used: ") + std::strerror(errno));
  page_ = static_cast<Page*>(at);
}

template <typename Page>
SharedPage<Page>::~SharedPage() {
  munmap(page_, sizeof(Page));
}

LiveClient::LiveClient(pid_t process, Descriptor pidfd, std::string name, int bell, Descriptor page)
    : pidfd_(std::move(pidfd)),
      own_bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      process_(process),
      name_(std::move(name)),
      daemon_bell_(bell),
      page_(page ? SharedPage<ClientPage>(std::move(page))
                 : SharedPage<ClientPage>(SharedPage<ClientPage>::Writer::client)) {
  // A client that returns has answered to another daemon's.
  permit_->epoch.store(static_cast<std::uint32_t>(monotonic_ns() >> 10));
  new_work();
}

bool LiveClient::welcome(std::int64_t daemon, bool held) {
  Welcome welcome;
  welcome.version = kVersion;
  welcome.accepted = 1;
  welcome.daemon = daemon;
  welcome.held = held ? 1 : 0;
  Hello& hello = welcome.introduction;
  hello.version = kVersion;
  hello.kind = Kind::client;
  hello.returns = 1;
  hello.priority = introduction.priority;
  hello.weight = introduction.weight;
  hello.slo_ns = introduction.slo ? introduction.slo->ns : 0;
  std::strncpy(hello.name, name_.c_str(), sizeof hello.name - 1);
  std::strncpy(hello.group, group.c_str(), sizeof hello.group - 1);
  const int files[kDescriptors] = {permit_.file(), page_.file(), daemon_bell_, own_bell_.get(),
                                   lender_.client_end()};
  const bool sent = send_record(socket_.get(), &welcome, sizeof welcome, files, kDescriptors);
  lender_.welcomed();
  return sent;
}

void LiveClient::permit(std::uint32_t allowed) {
  if (keeper_ != nullptr) return keeper_->permit(*this, allowed, Time{monotonic_ns()});
  let_in(allowed);
}

KeptClient::Memory LiveClient::memory() const {
  const MemoryStanding& page = page_->memory;
  Memory seen;
  seen.lent = page.lent.load();  // before `claimed`, which is written first
  seen.claimed = page.claimed.load();
  seen.fixed = page.fixed.load();  // before `movable`, which it was first: nothing counts as both
  seen.movable = page.movable.load();
  seen.away = page.away.load();
  seen.asked = page.asked.load();  // before `want`, which is written first
  seen.want = page.want.load();
  seen.done = page.done.load();
  seen.piece = page.piece.load();
  seen.turned = page.turned.load();
  seen.host = page.host.load();
  seen.saved = page.saved.load();
  seen.looks = page.looks.load();  // before what is written first
  seen.total = page.total.load();
  seen.free = page.free.load();
  seen.held = page.held.load();
  seen.changing = page.changing.load() != 0;
  seen.error = page.error.load();
  seen.no_host = page.no_host.load() != 0;
  seen.answers = memory_kind() == MemoryKind::managed;
  if (checkpoints() != nullptr) seen = checkpointed_->seen(seen);
  seen.leaves = leaves();
  return seen;
}

KeptClient::Memory::Leaves LiveClient::leaves() const {
  using Leaves = Memory::Leaves;
  const MemoryKind kind = memory_kind();
  if (kind != MemoryKind::counted && kind != MemoryKind::managed) return Leaves::as_usual;  // it has none
  const bool counted = kind == MemoryKind::counted;
  if (moved_by_ == MemoryMoves::none || (counted && checkpoints() == nullptr)) return Leaves::never;
  if (counted) return moved_by_ == MemoryMoves::whole ? Leaves::as_usual : Leaves::whole;
  return moved_by_ == MemoryMoves::managed ? Leaves::as_usual : Leaves::in_pieces;
}

void LiveClient::budget(std::uint64_t bytes) {
  permit_->memory.budget.store(bytes);
  if (checkpointed_) checkpointed_->budget(bytes);
}

void LiveClient::checkpointed_by(CheckpointHelper& helper, bool returns) {
  helper_ = &helper;
  checkpointed_.emplace(returns);
}

void LiveClient::checkpoint_step() {
  if (checkpoints() == nullptr) return;
  const auto act = checkpointed_->next(memory());
  if (!act) return;
  CheckpointOrder order;
  order.act = *act;
  order.process = process_;
  order.ticket = ++ticket_;
  const bool move = *act == CheckpointOrder::Act::move;
  if (move) order.from = moves_from_, order.to = moves_to_;
  if (!helper_->send(order, move ? page_.file() : -1)) checkpointed_->unsent();
}

bool LiveClient::move(const GpuUuid& from, const GpuUuid& to) {
  if (checkpoints() == nullptr || !checkpointed_->move()) return false;
  moves_from_ = from;
  moves_to_ = to;
  latest_move_ = {-1, 0, 0, false};
  return true;
}

void LiveClient::checkpointed(const CheckpointAnswer& answer) {
  if (answer.order.ticket != ticket_) return;
  const bool save = answer.order.act == CheckpointOrder::Act::save;
  MemoryStanding& page = page_->memory;
  if (answer.order.act == CheckpointOrder::Act::move)
    latest_move_ = {answer.error, answer.ns, answer.save_ns, answer.moved != 0};
  else if (answer.error == 0 && answer.order.act != CheckpointOrder::Act::look) {
    (save ? page.saves : page.restores).fetch_add(1);
    (save ? page.saved : page.restored).fetch_add(page.movable.load());
    (save ? page.save_ns : page.restore_ns).store(answer.ns);
  }
  checkpointed_->answered(answer);
}

void LiveClient::order(Goal goal, std::uint32_t number) {
  if (checkpointed_) checkpointed_->order(goal, number);
  MemoryOrders& orders = permit_->memory;
  orders.goal.store(static_cast<std::uint32_t>(goal));
  orders.number.store(number);
  syscall(SYS_futex, &orders.number, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void LiveClient::host(std::uint64_t bytes) {
  permit_->memory.host.store(bytes);
  syscall(SYS_futex, &permit_->memory.number, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void LiveClient::let_in(std::uint32_t allowed) {
  permit_->decided.store(monotonic_ns());
  permit_->epoch.fetch_add(1);
  permit_->allowed.store(allowed);
  syscall(SYS_futex, &permit_->allowed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void LiveClient::until_job(std::uint64_t last) {
  const std::uint64_t before = permit_->last_job.load();
  if (before != 0 && (last == 0 || last > before)) permit_->decided.store(monotonic_ns());
  permit_->last_job.store(last);
}

void LiveClient::is_not_scheduled() {
  until_job(0);
  permit(kUnlimited);
}

void LiveClient::rouse() {
  constexpr std::int64_t kAwake = 5'000'000;  // ns
  permit_->awake.store(monotonic_ns() + kAwake);
  syscall(SYS_futex, &permit_->allowed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Standing LiveClient::look() {
  Standing seen;
  seen.job = page_->job.load();
  seen.inside = !page_->nobody_inside();
  for (std::uint32_t s = 0, n = page_->streams_used(); s < n; ++s) {
    const StreamSlot& slot = page_->stream[s];
    const std::uint64_t outstanding = slot.outstanding();
    seen.outstanding += outstanding;
    seen.deepest = std::max(seen.deepest, outstanding);
    seen.over += slot.known.load(std::memory_order_relaxed);
  }
  // Under a closed gate, what the client says of itself: it cannot submit anything meanwhile.
  if (permit_->allowed.load() == 0 && page_->gone.load() == std::uint64_t{permit_->epoch.load()} + 1) {
    seen.away = seen.outstanding;
    seen.outstanding = seen.deepest = 0;
  }
  // The driver has waited for its work, and its threads wait for the driver.
  if (checkpoints() != nullptr && checkpointed_->away()) {
    seen.inside = false;
    seen.outstanding = seen.deepest = 0;
  }
  if (!seen.drained())
    seen.unanswered =
        std::max(Duration{}, Duration{monotonic_ns() - std::max<std::int64_t>(0, page_->looked.load())});
  seen.slices = slices();
  seen.waiting = page_->waiting.load() != 0;
  seen.changes_memory = page_->memory.changing.load() != 0;
  seen.submissions = page_->submissions();
  if (page_->priorities.load(std::memory_order_acquire) != 0)
    seen.priority = std::clamp(page_->priority.load(), -kMostPriority, std::max(highest_priority, 0));
  seen.asked = page_->asked.load();
  seen.channels = page_->channels.load();
  seen.endless = page_->whole.load() != 0;
  seen.outside = outside(seen.job);
  if (introduction.slo && (seen.job & 1) != 0) {
    const bool counted = in_job();  // before its slot, which is written first
    if (const auto times = job(jobs_over()))
      seen.since_arrival = Duration{monotonic_ns() - times->arrived};
    else if (!counted && page_->ranges.load() == 0)
      --seen.job;  // its deadline is not known yet: it begins with its slot
  }
  return seen;
}

// A job that is not counted. Behind it, as long as none was counted since.
bool LiveClient::outside(std::uint64_t job) {
  if (page_->ranges.load() == 0) return false;
  const std::uint64_t counted = page_->counted.load();
  outside_ = (job & 1) != 0 ? (counted & 1) == 0 : outside_ && counted == counted_;
  counted_ = counted;
  return outside_;
}

// Whatever the client wrote has to be possible.
std::optional<SlicedStanding> LiveClient::slices() const {
  const SliceStanding& page = page_->slices;
  const std::uint64_t at = page.at.load();
  SlicedStanding seen;
  seen.number = static_cast<std::uint32_t>(at >> 32);
  seen.kernel = page.kernel.load();
  seen.blocks = BlockCount{page.blocks.load()};
  seen.resident = BlockCount{std::max<std::int64_t>(1, page.resident.load())};
  if (const std::int64_t time = page.time.load(); time > 0)
    seen.time = Duration{std::min(time, kLongestSliced)};
  const std::uint64_t still = page.at.load();
  if (seen.number == 0 || still >> 32 != seen.number) return std::nullopt;
  seen.done = BlockCount{static_cast<std::uint32_t>(still)};
  if (seen.blocks.count == 0 || seen.blocks.count > INT32_MAX || seen.done >= seen.blocks)
    return std::nullopt;
  return seen;
}

void LiveClient::hold() {
  Releases& releases = permit_->releases;
  releases.count.store(jobs_begun());
  releases.kind.store(Releases::after);
}

void LiveClient::release_from(std::int64_t since, Duration think) {
  Releases& releases = permit_->releases;
  releases.since.store(since);
  releases.think.store(think.ns);
  releases.kind.store(Releases::after);
}

void LiveClient::release_until(std::uint64_t count) { permit_->releases.count.store(count); }

bool LiveClient::release_at(std::int64_t due) {
  Releases& releases = permit_->releases;
  const std::uint64_t count = releases.count.load();
  if (count >= jobs_begun() + kReleases - 1) return false;
  releases.due[count % kReleases].store(due);
  releases.kind.store(Releases::timed);
  releases.count.store(count + 1);
  return true;
}

std::optional<LiveClient::JobTimes> LiveClient::job(std::uint64_t number) const {
  const JobSlot& slot = page_->jobs[number % kJobs];
  if (slot.number.load() != number + 1) return std::nullopt;
  JobTimes times{slot.arrived.load(), slot.begun.load(), 0};
  if (jobs_over() > number) times.ended = slot.ended.load();
  if (slot.number.load() != number + 1) return std::nullopt;
  return times;
}

std::optional<LiveClient::DepartureTimes> LiveClient::departure(std::uint64_t number) const {
  const DepartureSlot& slot = page_->departure[number % kDepartures];
  if (slot.number.load() != number + 1) return std::nullopt;
  const DepartureTimes times{slot.told.load(), slot.left.load(), slot.again.load(), slot.kernels.load()};
  if (slot.number.load() != number + 1) return std::nullopt;
  return times;
}

std::optional<LiveClient::DepartureTimes> LiveClient::new_departure() {
  const std::uint64_t all = departures();
  return std::exchange(departed_, all) == all ? std::nullopt : departure(all - 1);
}

std::optional<std::string> LiveClient::new_that_waits() {
  const std::uint32_t all = kernels_that_wait();
  if (std::exchange(that_wait_, all) == all) return std::nullopt;
  std::string name;
  for (const std::atomic<char>& letter : page_->that_waits) {
    const char read = letter.load();
    if (read <= ' ' || read > '~' || read == ',') break;
    name += read;
  }
  return name;
}

void LiveClient::ask() {
  // Its process shares the bell, can fill it and make writes wait.
  pollfd bell{own_bell_.get(), POLLOUT, 0};
  if (poll(&bell, 1, 0) != 1 || (bell.revents & POLLOUT) == 0) return;
  const std::uint64_t one = 1;
  static_cast<void>(!write(own_bell_.get(), &one, sizeof one));
}

// By the descriptor of the process that connected: its number may be another's by now.
void LiveClient::kill() {
  killed_ = true;
  syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

bool LiveClient::stopped() {
  std::ifstream stat("/proc/" + std::to_string(process_) + "/stat");
  std::string text;
  std::getline(stat, text);
  // The name in front may hold anything, parentheses too.
  const std::size_t state = text.rfind(") ");
  return state != std::string::npos && state + 2 < text.size() &&
         (text[state + 2] == 'T' || text[state + 2] == 't');
}

void LiveClient::begin_sample(bool asks) {
  may_work_ = page_->outstanding() != 0;
  sampled_ = may_work_ && asks ? monotonic_ns() : 0;
  if (sampled_ != 0) ask();
}

std::optional<bool> LiveClient::works() const {
  if (sampled_ == 0) return may_work_;
  if (page_->looked.load() < sampled_) return std::nullopt;
  return page_->works.load() != 0;
}

LiveClient::Work LiveClient::new_work() {
  const auto since = [](std::uint64_t now, std::uint64_t& before) {
    const std::uint64_t last = std::exchange(before, std::max(before, now));
    return before - last;
  };
  return {since(jobs_begun(), work_.jobs), since(page_->submissions(), work_.submissions),
          since(killed_ ? 1 : 0, work_.killed)};
}

template class SharedPage<PermitPage>;
template class SharedPage<ClientPage>;

}  // namespace gangway::live
