#pragma once

#include <string>
#include <vector>

namespace kopper::plane {

// Who may talk to the server, and what it does for service accounts.
struct AuthOptions {
  // False: a request without credentials is an administrator's, which is right where there is nobody to keep out.
  // Requests that do show a certificate or a token, or impersonate somebody, are held to what RBAC allows either way.
  bool required = false;
  // True: requests without credentials are those of system:anonymous everywhere, not only at /healthz, /livez, /readyz
  // and /version; what it may do is up to RBAC.
  bool anonymous = false;
  std::string tokens;               // the text of a file as kube-apiserver's --token-auth-file takes it
  std::string service_account_key;  // PEM, ECDSA P-256. Empty: a new one, so that tokens end with the process
  std::string issuer = "https://kubernetes.default.svc";
  std::vector<std::string> audiences;  // of the server. Empty: the issuer
  std::string address;                 // https://host:port, for the issuer's discovery document
  std::string ca;  // PEM: goes into the ConfigMap kube-root-ca.crt of each namespace; empty: none is made
  bool bootstrap_roles = true;
  bool default_service_accounts = true;  // each namespace gets a ServiceAccount "default"
  bool pod_service_accounts = false;     // pods get their service account, and its token as a volume
};

}  // namespace kopper::plane
