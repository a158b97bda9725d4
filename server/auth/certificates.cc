#include "server/auth/certificates.h"

#include <ctime>
#include <fstream>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <sys/mman.h>

#include "openssl/pem.h"
#include "openssl/x509.h"

namespace pliant::server {
namespace {

using SystemTime = std::chrono::system_clock::time_point;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr std::size_t kMaxPemBytes = 1 << 20;

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (file && text.str().size() <= kMaxPemBytes) return text.str();
  return absl::UnavailableError(absl::StrCat(
      "cannot read ", path, "\n    Check the path, and that the user of pliantd may read it."));
}

std::unique_ptr<BIO, decltype(&BIO_free)> Memory(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

SystemTime ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

std::string Format(SystemTime time) {
  return absl::FormatTime(absl::RFC3339_sec, absl::FromChrono(time), absl::UTCTimeZone());
}

absl::Status Wrong(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

// The first certificate of a file, which must be valid now.
absl::StatusOr<Certificate> ReadCertificate(const std::string& path, const std::string& text,
                                            SystemTime now) {
  Certificate certificate(PEM_read_bio_X509(Memory(text).get(), nullptr, nullptr, nullptr),
                          &X509_free);
  if (certificate == nullptr) return Wrong(path, "no certificate; expected PEM");
  const SystemTime from = ToTime(X509_get0_notBefore(certificate.get()));
  const SystemTime until = ToTime(X509_get0_notAfter(certificate.get()));
  if (now < from) {
    return Wrong(path, absl::StrCat("the certificate is not valid before ", Format(from),
                                    "; check the clock of this machine"));
  }
  if (now >= until) {
    return Wrong(path, absl::StrCat("the certificate has expired at ", Format(until),
                                    "\n    Replace it by a renewed one."));
  }
  return certificate;
}

}  // namespace

Certificates::MemoryFile::MemoryFile() : file_(memfd_create("pliant", MFD_CLOEXEC)) {}
Certificates::MemoryFile::~MemoryFile() {
  close(file_);
}
bool Certificates::MemoryFile::Write(const std::string& bytes) {
  return pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
         ftruncate(file_, static_cast<off_t>(bytes.size())) == 0;
}
std::string Certificates::MemoryFile::path() const {
  return absl::StrCat("/proc/self/fd/", file_);
}

Certificates::Certificates(Options options) : options_(std::move(options)) {}
Certificates::~Certificates() = default;

absl::StatusOr<std::shared_ptr<Certificates>> Certificates::Open(Options options) {
  std::shared_ptr<Certificates> certificates(new Certificates(std::move(options)));
  if (absl::Status status = certificates->Reload(); !status.ok()) return status;
  return certificates;
}

absl::Status Certificates::Reload() {
  Pem pem;
  for (const auto& [path, text] : {std::pair{&options_.chain_file, &pem.chain},
                                   {&options_.key_file, &pem.key},
                                   {&options_.client_ca_file, &pem.client_ca}}) {
    if (path->empty()) continue;
    absl::StatusOr<std::string> read = ReadPem(*path);
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  std::lock_guard lock(mutex_);
  if (pem == pem_) return absl::OkStatus();

  const SystemTime now = options_.now();
  absl::StatusOr<Certificate> own = ReadCertificate(options_.chain_file, pem.chain, now);
  if (!own.ok()) return own.status();
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(
          Memory(pem.key).get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr),
      &EVP_PKEY_free);
  if (key == nullptr) return Wrong(options_.key_file, "no private key; expected PEM, unencrypted");
  if (X509_check_private_key(own->get(), key.get()) != 1) {
    return Wrong(options_.key_file, absl::StrCat("the key does not belong to the certificate in ",
                                                 options_.chain_file));
  }
  if (asks_clients()) {
    auto authority = ReadCertificate(options_.client_ca_file, pem.client_ca, now);
    if (!authority.ok()) return authority.status();
  }
  if (!chain_.Write(pem.chain) || !key_.Write(pem.key) || !client_ca_.Write(pem.client_ca))
    return absl::UnavailableError("this machine has no memory for the certificates");
  expires_ = ToTime(X509_get0_notAfter(own->get()));
  pem_ = std::move(pem);
  generation_.fetch_add(1);
  return absl::OkStatus();
}

Certificates::Pem Certificates::pem() const {
  std::lock_guard lock(mutex_);
  return pem_;
}

SystemTime Certificates::expires() const {
  std::lock_guard lock(mutex_);
  return expires_;
}

}  // namespace pliant::server
