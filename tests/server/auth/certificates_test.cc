#include "server/auth/certificates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/server/auth/certificate_maker.h"
#include "tests/server/auth/temporary_file.h"

namespace pliant::server {
namespace {

using testing::HasSubstr;

class CertificateFiles : public FilesTest {
 protected:
  void Put(const CertificateMaker::Pair& pair) {
    Write("cert.pem", pair.certificate);
    Write("key.pem", pair.key);
  }
  absl::StatusOr<std::shared_ptr<Certificates>> Open(const std::string& client_ca = "") {
    return Certificates::Open({Path("cert.pem"), Path("key.pem"), client_ca});
  }
  std::string Error() { return std::string(Open().status().message()); }
  static std::string ReadAll(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const CertificateMaker authority_{"authority"};
};

TEST_F(CertificateFiles, AreReadAgainWhenTheyChange) {
  const auto first = authority_.Make("first"), second = authority_.Make("second");
  Put(first);
  const auto opened = Open(Write("ca.pem", authority_.certificate()));
  ASSERT_TRUE(opened.ok()) << opened.status();
  Certificates& certificates = **opened;
  EXPECT_EQ(certificates.pem().chain, first.certificate);
  EXPECT_EQ(ReadAll(certificates.client_ca_path()), authority_.certificate());
  const std::uint64_t generation = certificates.generation();
  ASSERT_TRUE(certificates.Reload().ok());
  EXPECT_EQ(certificates.generation(), generation);

  Put(second);
  ASSERT_TRUE(certificates.Reload().ok());
  EXPECT_GT(certificates.generation(), generation);
  EXPECT_EQ(certificates.pem().chain, second.certificate);
  EXPECT_EQ(ReadAll(certificates.chain_path()), second.certificate);
  EXPECT_EQ(ReadAll(certificates.key_path()), second.key);
}

TEST_F(CertificateFiles, WrongOnesAreRefusedAndThePresentOneStays) {
  const auto good = authority_.Make("good"), expired = authority_.Make("old", -7200, -3600);
  Put(good);
  const auto certificates = Open();
  ASSERT_TRUE(certificates.ok());
  Put(expired);
  EXPECT_THAT(std::string((*certificates)->Reload().message()), HasSubstr("has expired at"));
  // a renewal of which only the certificate is written yet
  Put({authority_.Make("new").certificate, good.key});
  EXPECT_THAT(std::string((*certificates)->Reload().message()), HasSubstr("does not belong"));
  EXPECT_EQ((*certificates)->pem().chain, good.certificate);
  EXPECT_EQ(ReadAll((*certificates)->chain_path()), good.certificate);
}

TEST_F(CertificateFiles, ErrorNamesTheFileAndTheCause) {
  Put(authority_.Make("old", -7200, -3600));
  EXPECT_THAT(Error(), testing::AllOf(HasSubstr("cert.pem"), HasSubstr("has expired at")));
  Put(authority_.Make("future", 3600, 7200));
  EXPECT_THAT(Error(), testing::AllOf(HasSubstr("cert.pem"), HasSubstr("not valid before")));
  Put({authority_.Make("a").certificate, authority_.Make("b").key});
  EXPECT_THAT(Error(), testing::AllOf(HasSubstr("key.pem"), HasSubstr("does not belong")));
  Put({"no certificate", authority_.Make("b").key});
  EXPECT_THAT(Error(), testing::AllOf(HasSubstr("cert.pem"), HasSubstr("no certificate")));
  Put({authority_.Make("a").certificate, "no key"});
  EXPECT_THAT(Error(), testing::AllOf(HasSubstr("key.pem"), HasSubstr("no private key")));
  std::filesystem::remove(Path("cert.pem"));
  EXPECT_THAT(Error(), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace pliant::server
