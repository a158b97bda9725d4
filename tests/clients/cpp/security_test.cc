// Tokens and TLS, against a real pliantd that requires both.

#include "tests/clients/pliantd.h"
#include "tests/server/auth/certificate_maker.h"

namespace pliant {
namespace {

using testing::HasSubstr;

class Secured : public PliantdTest {
 protected:
  std::vector<std::string> Flags() override {
    const auto pair = authority_.Make("server", 0, 3600, names_);
    WriteFile("ca.pem", authority_.certificate());
    server::Program maker(
        {"token", "--name", "me", "--role", "operator", "--tokens", File("tokens")},
        File("token_errors"));
    std::string token = maker.ReadLine();
    EXPECT_EQ(maker.Wait(), 0);
    token.erase(token.find_last_not_of('\n') + 1);
    WriteFile("token", token + "\n");
    return {"--tls-cert", WriteFile("cert.pem", pair.certificate),
            "--tls-key",  WriteFile("key.pem", pair.key),
            "--tokens",   File("tokens")};
  }
  ClientOptions Options() const override {
    ClientOptions options;
    options.address = address();
    options.ca_file = File("ca.pem");
    options.token_file = File("token");
    return options;
  }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  const server::CertificateMaker authority_{"authority"};
  std::string names_ = "IP:127.0.0.1,DNS:localhost";
};

TEST_F(Secured, ATokenFromAFileOpensTheServer) {
  const World world = Create("lab");
  EXPECT_TRUE(world.Step().ok());
  EXPECT_EQ(world.Get()->caller_role(), "operator");
}

TEST_F(Secured, AWrongTokenAndNoneAreUnauthenticated) {
  ClientOptions options = Options();
  options.token_file.clear();
  EXPECT_TRUE(absl::IsUnauthenticated(Client::Connect(options).status()));
  options.token = "wrong";
  EXPECT_TRUE(absl::IsUnauthenticated(Client::Connect(options).status()));
}

TEST_F(Secured, AFileWithAnotherTokenIsReadAgain) {
  ClientOptions options = Options();
  options.token_file = WriteFile("mine", "wrong\n");
  options.checks_server = false;
  const auto client = Client::Connect(options);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(absl::IsUnauthenticated((*client)->CheckServer().status()));
  std::filesystem::copy_file(File("token"), File("mine"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(WaitUntil([&] { return (*client)->CheckServer().ok(); }));
}

TEST_F(Secured, WithoutTlsTheMessageNamesIt) {
  ClientOptions options = Options();
  options.ca_file.clear();
  const absl::Status status = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--tls"));
}

TEST_F(Secured, AnUnknownAuthorityIsSaidToBeOne) {
  ClientOptions options = Options();
  options.ca_file = WriteFile("other.pem", server::CertificateMaker("other").certificate());
  const absl::Status status = Client::Connect(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--ca"));
}

class SecuredElsewhere : public Secured {
 protected:
  SecuredElsewhere() { names_ = "DNS:elsewhere.example"; }
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/pliantd-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Start(Flags());
  }
};

TEST_F(SecuredElsewhere, ACertificateOfAnotherNameIsSaidToBeOne) {
  const absl::Status status = Client::Connect(Options()).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("of another name"));
}

}  // namespace
}  // namespace pliant
