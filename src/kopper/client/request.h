#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/key.h"
#include "kopper/client/options.h"
#include "kopper/client/resource.h"
#include "kopper/http/message.h"

// The verbs of the API as pure functions: options in, request out. Nothing here talks to a network.
// Bodies are JSON text. All throw Error{Invalid} for a key that cannot name an object of the resource.
namespace kopper::client {

// How much of each object the server sends: all, or apiVersion, kind and metadata.
enum class View : std::uint8_t { Whole, Metadata };

http::Request get_request(const Resource& resource, const Key& key, const GetOptions& options, View view = View::Whole);
http::Request list_request(const Resource& resource, const ListOptions& options, std::string_view continue_token = {},
                           View view = View::Whole);
http::Request watch_request(const Resource& resource, const WatchOptions& options, View view = View::Whole);

// `key.name` is used for a subresource only: objects are created in their collection, and may let the server name them.
http::Request create_request(const Resource& resource, const Key& key, std::string body, const WriteOptions& options);
http::Request update_request(const Resource& resource, const Key& key, std::string body, const WriteOptions& options);
http::Request patch_request(const Resource& resource, const Key& key, PatchType type, std::string body,
                            const PatchOptions& options, View view = View::Whole);
http::Request apply_request(const Resource& resource, const Key& key, std::string body, const ApplyOptions& options);

http::Request delete_request(const Resource& resource, const Key& key, const DeleteOptions& options);
// Of `which` only namespace and selectors count.
http::Request delete_collection_request(const Resource& resource, const ListOptions& which,
                                        const DeleteOptions& options);
// Servers before 1.22 know only policy/v1beta1.
http::Request evict_request(const Key& pod, const DeleteOptions& options, std::string_view api_version = "policy/v1");

http::Request log_request(const Key& pod, const LogOptions& options);
http::Request exec_request(const Key& pod, const ExecOptions& options);
http::Request attach_request(const Key& pod, const ExecOptions& options);
http::Request port_forward_request(const Key& pod, const std::vector<std::uint16_t>& ports);

}  // namespace kopper::client
