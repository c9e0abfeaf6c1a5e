#include "models/granting.hpp"

namespace gangway {
namespace {

GrantOf read_of(const Field& field) {
  return field.one_of({"kernel", "job"}) == "job" ? GrantOf::job : GrantOf::kernel;
}

constexpr Duration kLongestIdle{100'000'000'000};

}  // namespace

Granting read_granting(const Field& field) {
  Granting granting;
  if (!field.is_mapping()) {
    granting.of = read_of(field);
    return granting;
  }
  Mapping m = field.mapping();
  const auto forms = m.maybe("forms");  // which policies that grant nothing can have alone
  if (const auto of = forms ? m.maybe("of") : m.need("of")) granting.of = read_of(*of);
  if (auto idle = m.maybe("idle")) {
    if (granting.of == GrantOf::kernel) idle->fail("no idle, because kernel grants are never idle");
    granting.idle = idle->duration(Duration{}, kLongestIdle);
  }
  if (auto most = m.maybe("in_flight")) {
    if (granting.of == GrantOf::kernel) most->fail("no in_flight, which needs grants of whole jobs");
    granting.in_flight = most->integer(1, 1'000'000);
  }
  if (auto overlap = m.maybe("overlap")) {
    if (granting.of == GrantOf::kernel) overlap->fail("no overlap, which needs grants of whole jobs");
    granting.overlap = overlap->boolean();
  }
  if (forms) granting.forms = take_forms_named(forms->one_of({"none", "worth", "all"}));
  m.finish();
  return granting;
}

}  // namespace gangway
