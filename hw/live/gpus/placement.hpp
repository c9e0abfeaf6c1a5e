// Which GPU a program is placed on, and when moving a client to another GPU is worth its cost. Pure;
// README.md has the rules and their reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/quantity.hpp"

namespace gangway::live {

enum class Place {
  fixed,         // in turn, in the order in which programs start
  least_loaded,  // on the GPU with the least load when a program starts
  migrate,       // likewise, and clients move when that is worth its cost
};
// InputError unless the text is "fixed", "least-loaded" or "migrate".
Place place_named(const std::string& option, const std::string& text);
const char* text_of(Place place);

// What one GPU carries at a moment.
struct GpuLoad {
  std::uint64_t resident = 0;  // bytes of its clients on it
  std::uint64_t memory = 0;    // bytes in all; 0: not known
  double use = 0;              // share of the window in which its clients' work was on it, 0 to 1
  std::size_t programs = 0;    // clients on it, and programs placed there that are not clients yet
};
// resident / memory + use.
double load_of(const GpuLoad& gpu);
// The index of the GPU with the least load, of at least one. Loads within 1 % are equal: then the fewest
// programs decide, then the lowest number.
std::size_t least_loaded(const std::vector<GpuLoad>& gpus);

// A client as the rule for moves sees it, over a whole window.
struct Wanting {
  std::size_t gpu = 0;
  double demand = 0;            // share of the window in which it had a job or work under way, waiting or not
  std::uint64_t footprint = 0;  // bytes that a move copies to the host and back
  bool movable = true;          // in no group, memory counted, not moving, seen for a window
};
struct MoveRule {
  Duration window{10'000'000'000};
  double least_gain = 0.25;  // of turnaround, in seconds per second
  double margin = 2;         // a move must gain this many times its cost
};
// How fast states move. Until the first move: the driver's checkpoint of 32 GiB on an H100 (../README.md).
struct MovePace {
  double save = 2e9, restore = 5.5e9;  // bytes/s
  Duration fixed{300'000'000};         // of a move without bytes
};
Duration move_time(std::uint64_t footprint, const MovePace& pace);

// Total turnaround of jobs, in seconds per second, given the sum D of demands on each GPU: D times the
// slowdown by sharing, max(1, D).
double turnaround(const std::vector<double>& demands);

struct MoveChoice {
  std::size_t client = 0, to = 0;
  double gain = 0;    // of turnaround, in seconds per second
  Duration expected;  // time of the move
};
// The move with the largest gain over a window minus margin times its cost; none: no move is worth it.
// `room`: bytes free, by GPU.
std::optional<MoveChoice> best_move(const std::vector<Wanting>& clients,
                                    const std::vector<std::uint64_t>& room, const MovePace& pace,
                                    const MoveRule& rule);

}  // namespace gangway::live
