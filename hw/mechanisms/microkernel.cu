// Share-a-GPU's microkernels (Garg et al., II-D): launched as slices are. The paper's messages go between the
// processes of its clients and the scheduler; here both are one process, so there are none.
#include "hw/mechanisms/polled_word.hpp"

namespace gangway {
namespace {

const RealMechanismRegistration<SlicedHalf<HostMechanism>, SlicedHalf<StoreMechanism>> registered{
    {"microkernel", {}, {"message", "registration"}}};

}  // namespace
}  // namespace gangway
