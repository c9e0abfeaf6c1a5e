// Which way a copy goes between host and device; each way has an engine of its own.
#pragma once

namespace gangway {

enum class CopyDirection { to_device, to_host };

}  // namespace gangway
