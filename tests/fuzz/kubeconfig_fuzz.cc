// Any bytes as a kubeconfig: parsed, merged with itself, resolved in every context, written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kopper/client/exec_plugin.h"
#include "kopper/client/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kopper::client;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_exec_credential(text, "client.authentication.k8s.io/v1");

  const auto kubeconfig = parse_kubeconfig(text, "/fuzz/config");
  if (!kubeconfig) return 0;
  const std::vector<Kubeconfig> twice{*kubeconfig, *kubeconfig};
  const auto merged = merge_kubeconfigs(twice);
  if (merged.clusters.size() != kubeconfig->clusters.size()) std::abort();
  (void)resolve(merged, {});
  for (const auto& context : merged.contexts) (void)resolve(merged, {.context = context.name});

  const auto again = parse_kubeconfig(to_yaml(*kubeconfig), "/fuzz/config");
  if (!again || again->users.size() != kubeconfig->users.size()) std::abort();
  return 0;
}
