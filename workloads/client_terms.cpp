#include "workloads/client_terms.hpp"

namespace gangway {
namespace {

constexpr Duration kShortest{1};
constexpr double kLeastWeight = 1e-6, kMostWeight = 1e6;
constexpr double kMostAttribute = 1e18;

Attributes read_attributes(const Field& field) {
  Mapping m = field.mapping();
  Attributes attributes;
  for (const auto& [name, value] : field.node().entries)
    attributes.push_back({name, m.need(name).number(-kMostAttribute, kMostAttribute)});
  m.finish();
  return attributes;
}

}  // namespace

void read_terms(Mapping& client, Client& into) {
  if (auto slo = client.maybe("slo")) into.slo = slo->duration(kShortest);
  if (auto weight = client.maybe("weight")) into.weight = weight->number(kLeastWeight, kMostWeight);
  if (auto attributes = client.maybe("attributes")) into.attributes = read_attributes(*attributes);
  if (auto leave = client.maybe("leave")) {
    into.leave = leave->duration(kShortest);
    if (into.arrive && *into.leave <= *into.arrive) leave->fail("a time after its arrival");
  }
}

}  // namespace gangway
