// A note within a module of what its forms are: a constant of the device's memory that nothing reads there.
// It goes where the code goes, through nvlink, fatbinary and compression and to other machines, where an
// entry in a cache would be left behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

// The lines to be put behind a rewritten PTX text. Modules with other kernels have other names for it.
std::string forms_note(const std::vector<KernelForms>& kernels);

// All that a cubin has of it, in the order of its symbols; none where it has none, or is no cubin.
std::vector<KernelForms> forms_in(std::string_view cubin);

}  // namespace gangway::transform
