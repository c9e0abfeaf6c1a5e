// A form: a way to rewrite a kernel so that it can leave the GPU early. One self-registering file each.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/analysis/facts.hpp"

namespace gangway::transform {

// A trait for which a form refuses a kernel, and why, in words for users.
struct Objection {
  Trait trait;
  const char* reason;
};

class FormRule {
 public:
  virtual ~FormRule() = default;
  virtual std::string name() const = 0;
  virtual int rank() const = 0;  // the higher, the sooner a kernel leaves
  virtual std::vector<Objection> objections() const = 0;
  // Bytes of dynamic shared memory that a launch has to have behind those of the kernel.
  virtual std::uint32_t shared_bytes() const = 0;
  // What a rewritten kernel does before anything else. Hands on the logical index in %gangway_index; the
  // statements in which the kernel's block index follows from that come behind it.
  virtual std::string beginning(const std::string& shared_base, bool copies) const = 0;
  // What takes the place of ret and exit, and ends the body; empty: they stay.
  virtual std::string instead_of_leaving() const = 0;
};

// All forms by rank.
const std::vector<const FormRule*>& forms();

// What no form can do.
std::vector<Objection> objections_of_all();

struct FormRegistration {
  explicit FormRegistration(const FormRule& rule);
};

}  // namespace gangway::transform
