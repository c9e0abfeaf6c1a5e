// The rules by which a GPU takes kernels and copies from its queues, under the names given by their
// discoverers. YA: Yang and Anderson, Response-Time Bounds for Concurrent GPU Scheduling, III. RTSS17: Amert
// et al., GPU Scheduling on the NVIDIA TX2, RTSS 2017. RTAS24: Bakita and Anderson, Demystifying NVIDIA GPU
// Internals, RTAS 2024. CUDA: NVIDIA's programming guide. Papers reuse letters for different rules. Each rule
// can be disabled; "Off" says what happens then.
#pragma once

#include <cstdint>
#include <string>

#include "models/input/field.hpp"

namespace gangway {

enum class Rule : std::uint8_t {
  // An operation joins its stream's queue when it is issued; a client issues all of a job's operations at its
  // release. Off: the client waits for each operation before it issues the next.
  G1,
  // A kernel joins the primary queue when it is at the head of its stream queue (also YA.R2). Off: when it is
  // issued.
  G2,
  // A kernel leaves the primary queue when all its blocks are assigned. Off: when all have ended.
  G3,
  // A kernel leaves its stream queue when all its blocks have ended. Off: when all are assigned.
  G4,
  // Only blocks of the kernel at the head of the primary queue are assigned (also YA.R1). Off: if the head
  // does not fit, later kernels are tried in order.
  X1,
  // A block is assigned only if its resources are free: with R2 and R3 disabled, block slots. Off: no limits
  // apply.
  R1,
  R2,  // ... threads of one SM. Off: threads do not limit.
  R3,  // ... shared memory and registers of one SM. Off: they do not limit.
  // A kernel joins the primary queue of its stream's priority. Off: all kernels join one queue.
  A1,
  // Blocks of a queue are assigned only while all queues of higher priority are empty, even if the head there
  // does not fit. Off: a queue whose head does not fit is skipped.
  A2,
  // A copy joins its engine's queue when it is at the head of its stream queue. Off: when it is issued.
  C1,
  // Only the copy at the head of an engine's queue is carried out, one at a time. Off: all at once, each at
  // full speed.
  C2,
  C3,  // A copy leaves its engine's queue when it begins. Off: when it ends; times are the same.
  C4,  // A copy leaves its stream queue when it has ended. Off: when it begins.
  // An operation of the NULL stream waits until every other stream is empty or has a later-issued operation
  // at its head. Off: it does not wait.
  N1,
  // An operation of another stream waits while the NULL stream has an earlier-issued operation at its head.
  // Off: it does not wait.
  N2,
  // Operations of streams that share a channel join queues in issue order. Off: every stream has its own
  // channel.
  B1,
  // At most as many kernels as the device supports (the programming guide's "resident grids") are in primary
  // queues or have running blocks. Off: any number.
  K1,
  // Under native-timeslice arbitration, blocks of one context run at a time, in turns. Off: all contexts
  // share the device.
  T1,
  // Not a switch of its own: queue order by release time (YA.P1), in which a kernel waits for those released
  // earlier.
  P1,
};
inline constexpr int kRules = static_cast<int>(Rule::P1) + 1;

// "RTSS17.X1".
std::string name_of(Rule rule);

class RuleSet {
 public:
  constexpr bool on(Rule rule) const { return (off_ >> static_cast<int>(rule) & 1) == 0; }
  constexpr void set(Rule rule, bool on) {
    const std::uint32_t bit = 1u << static_cast<int>(rule);
    off_ = on ? off_ & ~bit : off_ | bit;
  }
  friend constexpr bool operator==(RuleSet, RuleSet) = default;

 private:
  std::uint32_t off_ = 0;
};

// Reads `{RTSS17: {A2: false}, YA: {R1: false}}`; rules not named are on. Throws InputError.
RuleSet read_rules(const Field& field);

}  // namespace gangway
