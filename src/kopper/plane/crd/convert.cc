#include "kopper/plane/crd/convert.h"

#include <fmt/format.h>

#include "kopper/plane/crd/go_text.h"

namespace kopper::plane {
namespace {

std::expected<void, std::string> restore_metadata(const json::Value& sent, json::Value& got) {
  constexpr std::pair<const char*, const char*> kSame[] = {
      {"name", "name"}, {"namespace", "namespace"}, {"uid", "UID"}};
  if (!got["metadata"].is_object())
    return std::unexpected("returned invalid metadata: missing metadata in converted object");
  const json::Value& before = sent["metadata"];
  const json::Value after = got["metadata"];
  for (const auto& [field, called] : kSame)
    if (before.text(field) != after.text(field))
      return std::unexpected(fmt::format("returned invalid object: must have the same {}: {} != {}", called,
                                         before.text(field), after.text(field)));
  json::Value kept = before;
  for (const char* field : {"labels", "annotations"}) {
    if (after[field].is_null()) {
      if (kept.is_object()) kept.as_object()->erase(field);
    } else {
      kept[field] = after[field];
    }
  }
  got["metadata"] = std::move(kept);
  return {};
}

}  // namespace

void convert_by_name(json::Value& object, std::string_view api_version) {
  object["apiVersion"] = api_version;
  if (json::Object* members = object.as_object())
    if (json::Value* items = members->find("items"); items != nullptr && items->is_array())
      for (json::Value& item : *items->as_array())
        if (item.is_object() && item.as_object()->contains("kind")) item["apiVersion"] = api_version;
}

std::optional<WebhookConversion> webhook_conversion_of(const json::Value& crd) {
  const json::Value& conversion = crd["spec"]["conversion"];
  if (conversion.text("strategy") != "Webhook") return std::nullopt;
  const json::Value& webhook = conversion["webhook"];
  const json::Value& client = webhook["clientConfig"];
  WebhookConversion out{.url = std::string(client.text("url")),
                        .service_namespace = std::string(client["service"].text("namespace")),
                        .service_name = std::string(client["service"].text("name")),
                        .service_path = std::string(client["service"].text("path")),
                        .ca_bundle = std::string(client.text("caBundle"))};
  if (const std::int64_t* port = client["service"]["port"].as_int()) out.service_port = *port;
  if (const json::Array* versions = webhook["conversionReviewVersions"].as_array())
    for (const json::Value& version : *versions)
      if (out.review_version.empty() && version.is_string() &&
          (*version.as_string() == "v1" || *version.as_string() == "v1beta1"))
        out.review_version = *version.as_string();
  return out;
}

json::Value conversion_review(std::string_view review_version, std::string_view uid, std::string_view api_version,
                              json::Array objects) {
  json::Object request{{"uid", uid}, {"desiredAPIVersion", api_version}, {"objects", std::move(objects)}};
  return json::Object{{"kind", "ConversionReview"},
                      {"apiVersion", fmt::format("apiextensions.k8s.io/{}", review_version)},
                      {"request", std::move(request)},
                      {"response", json::Object{{"uid", ""},
                                                {"convertedObjects", nullptr},
                                                {"result", json::Object{{"metadata", json::Object()}}}}}};
}

std::expected<json::Array, std::string> converted_objects(const json::Value& answer, std::string_view uid,
                                                          std::string_view api_version, const json::Array& sent) {
  const auto fail = [](std::string why) { return std::unexpected("failed: " + std::move(why)); };
  const std::string_view version = answer.text("apiVersion");
  const bool v1 = version == "apiextensions.k8s.io/v1";
  if (answer.text("kind") != "ConversionReview" || (!v1 && version != "apiextensions.k8s.io/v1beta1"))
    return fail(
        fmt::format("expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got {}, Kind={}",
                    version, answer.text("kind")));
  const json::Value& response = answer["response"];
  if (!response.is_object()) return fail("no response provided");
  if (v1 && response.text("uid") != uid)
    return fail(fmt::format("expected response.uid={}, got {}", go_quoted(uid), go_quoted(response.text("uid"))));
  const json::Value& result = response["result"];
  if (result.text("status") != "Success") {
    if (!result.text("message").empty()) return fail(std::string(result.text("message")));
    return fail(fmt::format("response.result.status was '{}', not 'Success'", result.text("status")));
  }
  const json::Array* objects = response["convertedObjects"].as_array();
  const std::size_t count = objects != nullptr ? objects->size() : 0;
  if (count != sent.size()) return std::unexpected(fmt::format("returned {} objects, expected {}", count, sent.size()));
  json::Array out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    json::Value got = (*objects)[i];
    if (got.text("apiVersion") != api_version)
      return std::unexpected(
          fmt::format("returned invalid converted object at index {}: invalid groupVersion (expected {}, "
                      "received {})",
                      i, api_version, got.text("apiVersion")));
    if (got.text("kind") != sent[i].text("kind"))
      return std::unexpected(
          fmt::format("returned invalid converted object at index {}: invalid kind (expected {}, "
                      "received {})",
                      i, sent[i].text("kind"), got.text("kind")));
    if (auto done = restore_metadata(sent[i], got); !done) return std::unexpected(done.error());
    out.push_back(std::move(got));
  }
  return out;
}

}  // namespace kopper::plane
