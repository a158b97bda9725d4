#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509v3.h"

namespace pliant::server {

// An authority that signs certificates for tests.
class CertificateMaker {
 public:
  struct Pair {
    std::string certificate, key;  // PEM
  };

  explicit CertificateMaker(const std::string& name) : key_(NewKey()) {
    certificate_.reset(X509_new(), X509_free);
    Fill(certificate_.get(), name, key_.get(), 0, 3600);
    Add(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(certificate_.get(), key_.get(), EVP_sha256());
  }

  std::string certificate() const { return ToPem(certificate_.get()); }

  // A certificate for these names, valid between two times from now [s].
  Pair Make(const std::string& name, long from = 0, long until = 3600,
            const std::string& names = "IP:127.0.0.1,DNS:localhost") const {
    const std::shared_ptr<EVP_PKEY> key = NewKey();
    const std::shared_ptr<X509> own(X509_new(), X509_free);
    Fill(own.get(), name, key.get(), from, until);
    Add(own.get(), NID_subject_alt_name, names.c_str());
    X509_set_issuer_name(own.get(), X509_get_subject_name(certificate_.get()));
    X509_sign(own.get(), key_.get(), EVP_sha256());
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(memory, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {ToPem(own.get()), Take(memory)};
  }

 private:
  static std::shared_ptr<EVP_PKEY> NewKey() {
    return {EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free};
  }

  void Fill(X509* certificate, const std::string& name, EVP_PKEY* key, long from,
            long until) const {
    static long serial = 0;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from - 60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), until);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  }

  static void Add(X509* certificate, int kind, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  static std::string ToPem(X509* certificate) {
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(memory, certificate);
    return Take(memory);
  }

  static std::string Take(BIO* memory) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory, &text);
    std::string pem(text, size);
    BIO_free(memory);
    return pem;
  }

  const std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

}  // namespace pliant::server
