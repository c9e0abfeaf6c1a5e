#include "experiments/results/experiment_notes.hpp"

#include <iterator>
#include <utility>

#include "experiments/running/slice_bound.hpp"
#include "experiments/sweeps/foreign_evictions.hpp"
#include "experiments/sweeps/kept_renewal.hpp"
#include "experiments/sweeps/without_effect.hpp"

namespace gangway {
namespace {

void append(std::vector<std::string>& notes, std::vector<std::string> more) {
  notes.insert(notes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<std::string> notes_of(const Experiment& experiment, const WorldEntry& world,
                                  const RecordedMachines& recordings) {
  std::vector<std::string> notes = recordings.notes();
  append(notes, notes_without_effect(experiment));
  if (std::string slices = slice_bound_note(experiment); !slices.empty()) notes.push_back(std::move(slices));
  if (world.real_time) return notes;
  append(notes, notes_of_foreign_evictions(experiment));
  append(notes, notes_of_kept_renewal(experiment));
  return notes;
}

}  // namespace gangway
