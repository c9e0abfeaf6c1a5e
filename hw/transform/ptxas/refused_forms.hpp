// What to leave out of a rewritten module that ptxas refuses, so that the other forms remain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

class RefusedForms {
 public:
  // `said`: what ptxas said of a module that was rewritten without excluded(). Leaves out the forms in whose
  // text its errors are, or that they name. False: there are none, or it was tried often enough.
  bool note(const Rewritten& refused, std::string_view said);
  // For when nobody else is to blame: all loops, which are the longest and use the latest instructions.
  // False: there are none.
  bool without_loops(const Rewritten& refused);
  const std::vector<ExcludedForm>& excluded() const { return excluded_; }

 private:
  bool leave_out(ExcludedForm form);

  static constexpr int kMostTries = 4;

  std::vector<ExcludedForm> excluded_;
  int tries_ = 0;
};

}  // namespace gangway::transform
