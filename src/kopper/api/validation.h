#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kopper::api {

// What a server would say about a name: empty when it is fine, else its words, one for each thing that is wrong.
using Complaints = std::vector<std::string>;

// "my-name": namespaces, most things that become a part of a DNS name.
Complaints check_dns_label(std::string_view value);
// "example.com": names of most objects, API groups.
Complaints check_dns_subdomain(std::string_view value);
// "my-name", but not starting with a digit: services.
Complaints check_dns1035_label(std::string_view value);
// "app", "example.com/app": keys of labels and annotations, finalizers, condition types.
Complaints check_label_key(std::string_view value);
// "", "v1.2": values of labels.
Complaints check_label_value(std::string_view value);
// "key.name": keys of config maps and secrets.
Complaints check_config_key(std::string_view value);

}  // namespace kopper::api
