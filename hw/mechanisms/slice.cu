// PKM's slices: a launch is a grid of the original kernel's blocks, from an offset on.
#include "hw/mechanisms/polled_word.hpp"

namespace gangway {
namespace {

const RealMechanismRegistration<SlicedHalf<HostMechanism>, SlicedHalf<StoreMechanism>> registered{
    {"slice", {}, {"slice_cost"}}};

}  // namespace
}  // namespace gangway
