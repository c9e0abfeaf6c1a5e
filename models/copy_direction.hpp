// Direction of a copy between host and device. Each direction has its own engine.
#pragma once

namespace gangway {

enum class CopyDirection { to_device, to_host };

}  // namespace gangway
