#include "tests/standin/modules/interpreted.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "tests/ptx/interpreter/interpreter.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"
#include "tests/standin/launches/kernel_command.hpp"

namespace gangway::standin {
namespace {

namespace ptx = gangway::testing::ptx;

constexpr std::uint64_t kBudget = 20'000'000'000;  // instructions

// Blocks of a launch that run at the same time; 0: drawn.
std::uint32_t resident_blocks() {
  static const auto number = static_cast<std::uint32_t>(
      std::strtoul(environment_text("STANDIN_RESIDENT", "0").c_str(), nullptr, 10));
  return number;
}

std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> launches{0};
  static const std::uint64_t seed =
      std::strtoull(environment_text("STANDIN_INTERPRET", "0").c_str(), nullptr, 10);
  return seed * 1'000'003 + launches.fetch_add(1);
}

}  // namespace

bool interprets() {
  static const bool set = !environment_text("STANDIN_INTERPRET", "").empty();
  return set;
}

struct Interpreted::Machines {
  std::string text;
  std::mutex mutex, alone;  // `alone`: held by a launch of a module with variables
  std::vector<std::unique_ptr<ptx::Module>> idle;
  std::vector<Variable> variables;

  std::unique_ptr<ptx::Module> take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<ptx::Module>(text);
    auto one = std::move(idle.back());
    idle.pop_back();
    return one;
  }
  void give_back(std::unique_ptr<ptx::Module> one) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(one));
  }
};

Interpreted::Interpreted(std::string text) : machines_(std::make_unique<Machines>()) {
  machines_->text = std::move(text);
  try {
    machines_->give_back(std::make_unique<ptx::Module>(machines_->text));
  } catch (const ptx::Error& error) {
    std::fprintf(stderr, "stand-in: %s\n", error.what());
    fail(CUDA_ERROR_INVALID_PTX);
  }
}

Interpreted::~Interpreted() = default;

void Interpreted::place(std::vector<Variable> variables) {
  machines_->variables = std::move(variables);
  const auto machine = machines_->take();
  for (const Variable& each : machines_->variables)
    std::memcpy(reinterpret_cast<void*>(each.address), machine->variable(each.name).data(), each.bytes);
}

void Interpreted::run(const std::string& entry, const LaunchShape& shape,
                      const std::vector<char>& parameters) {
  std::unique_lock<std::mutex> alone(machines_->alone, std::defer_lock);
  if (!machines_->variables.empty()) alone.lock();
  auto machine = machines_->take();
  for (const Variable& each : machines_->variables)
    std::memcpy(machine->variable(each.name).data(), reinterpret_cast<const void*>(each.address), each.bytes);
  ptx::Launch launch;
  launch.grid = {shape.grid[0], shape.grid[1], shape.grid[2]};
  launch.block = {shape.block[0], shape.block[1], shape.block[2]};
  launch.parameters = std::as_bytes(std::span(parameters));
  launch.dynamic_shared_bytes = shape.shared_bytes;
  launch.budget = kBudget;
  launch.schedule.seed = next_seed();
  launch.schedule.threads = static_cast<ptx::Interleaving>(launch.schedule.seed % 5);
  launch.schedule.resident = resident_blocks() != 0
                                 ? resident_blocks()
                                 : 1 + static_cast<std::uint32_t>(launch.schedule.seed / 5 % 4);
  const ptx::Outcome outcome = machine->launch(entry, launch);
  for (const Variable& each : machines_->variables)
    std::memcpy(reinterpret_cast<void*>(each.address), machine->variable(each.name).data(), each.bytes);
  machines_->give_back(std::move(machine));
  if (outcome.ending == ptx::Ending::done) return;
  std::fprintf(stderr, "stand-in: %s: %s\n", entry.c_str(), outcome.message.c_str());
  fail(outcome.ending == ptx::Ending::fault ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_TIMEOUT);
}

}  // namespace gangway::standin
