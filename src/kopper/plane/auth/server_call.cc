#include "kopper/plane/auth/server_call.h"

namespace kopper::plane {

Call server_call(const Core& core, const char* verb, const char* group, const char* plural, std::string namespace_,
                 std::string name, const char* manager) {
  Call call;
  call.user.name = "system:apiserver";
  call.user.groups = {"system:masters", "system:authenticated"};
  call.resource = core.catalog.find_any(group, plural);
  call.info.verb = verb;
  call.info.is_resource = true;
  call.info.group = group;
  call.info.version = call.resource->version;
  call.info.resource = plural;
  call.info.namespace_ = std::move(namespace_);
  call.info.name = std::move(name);
  call.request.headers.set("user-agent", manager);
  return call;
}

}  // namespace kopper::plane
