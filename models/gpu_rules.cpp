#include "models/gpu_rules.hpp"

#include <array>

#include "models/nearest.hpp"

namespace gangway {
namespace {

struct Known {
  const char* paper;
  const char* name;
  Rule rule;
};

// The first of a rule's names is the one that the trace shows. P1 has no switch.
constexpr std::array kKnown{
    Known{"RTSS17", "G1", Rule::G1}, Known{"RTSS17", "G2", Rule::G2}, Known{"RTSS17", "G3", Rule::G3},
    Known{"RTSS17", "G4", Rule::G4}, Known{"RTSS17", "X1", Rule::X1}, Known{"RTSS17", "R1", Rule::R1},
    Known{"RTSS17", "R2", Rule::R2}, Known{"RTSS17", "R3", Rule::R3}, Known{"RTSS17", "A1", Rule::A1},
    Known{"RTSS17", "A2", Rule::A2}, Known{"RTSS17", "C1", Rule::C1}, Known{"RTSS17", "C2", Rule::C2},
    Known{"RTSS17", "C3", Rule::C3}, Known{"RTSS17", "C4", Rule::C4}, Known{"RTSS17", "N1", Rule::N1},
    Known{"RTSS17", "N2", Rule::N2}, Known{"RTAS24", "B1", Rule::B1}, Known{"YA", "R1", Rule::X1},
    Known{"YA", "R2", Rule::G2},     Known{"CUDA", "K1", Rule::K1},   Known{"CUDA", "T1", Rule::T1},
};

}  // namespace

std::string name_of(Rule rule) {
  for (const Known& known : kKnown)
    if (known.rule == rule) return std::string(known.paper) + "." + known.name;
  return "YA.P1";
}

RuleSet read_rules(const Field& field) {
  RuleSet rules;
  Mapping papers = field.mapping();
  for (const std::string paper : {"RTSS17", "RTAS24", "YA", "CUDA"}) {
    const auto given = papers.maybe(paper);
    if (!given) continue;
    Mapping switches = given->mapping();
    for (const Known& known : kKnown)
      if (paper == known.paper)
        if (const auto value = switches.maybe(known.name)) rules.set(known.rule, value->boolean());
    switches.finish();
  }
  papers.finish();
  return rules;
}

}  // namespace gangway
