#include "clients/cpp/connection.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/impl/client_unary_call.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include <sys/stat.h>

#include "clients/cpp/files.h"
#include "grpc/support/time.h"

namespace pliant {
namespace {

// Frames have at most 4 MiB; states and descriptions come in chunks.
constexpr int kMaxReceivedBytes = 16 << 20;

// The port of HOST:PORT or [HOST]:PORT; empty if there is none.
std::string_view PortOf(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return "";
  const std::string_view host = address.substr(0, colon), port = address.substr(colon + 1);
  const bool is_bare_ipv6 = host.find(':') != std::string_view::npos && host.front() != '[';
  const bool is_number =
      !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number && !is_bare_ipv6 ? port : "";
}

absl::Status CheckAddress(const std::string& address) {
  if (address.starts_with("unix:") || !PortOf(address).empty()) return absl::OkStatus();
  std::string mend = "expected HOST:PORT, such as 127.0.0.1:50051";
  if (address.find("://") != std::string::npos)
    mend += "; the page (http://…) is on another port than gRPC";
  return absl::InvalidArgumentError(
      absl::StrCat("the server address \"", address, "\" has no port; ", mend));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ClientOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty())
    return absl::InvalidArgumentError(
        "a client certificate needs its key, and a key needs its certificate");
  if (!options.tls && options.ca_file.empty() && options.certificate_file.empty())
    return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  const std::pair<const std::string*, std::string*> files[] = {
      {&options.ca_file, &ssl.pem_root_certs},
      {&options.key_file, &ssl.pem_private_key},
      {&options.certificate_file, &ssl.pem_cert_chain}};
  for (const auto& [path, content] : files) {
    if (path->empty()) continue;
    absl::StatusOr<std::string> read = ReadWholeFile(*path);
    if (!read.ok()) return read.status();
    *content = *std::move(read);
  }
  return grpc::SslCredentials(ssl);
}

std::string UserAtHost() {
  const char* user = std::getenv("USER");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(user != nullptr && *user != '\0' ? user : "pliant", "@", host);
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Advice on a connection that failed, from gRPC's error text.
std::string FindMend(const std::string& cause, const ClientOptions& options) {
  if (Has(cause, "http1") || Has(cause, "HTTP/1") || Has(cause, "Http1"))
    return "This is the HTTP port of the page. Give the gRPC port (--grpc-port of the server, "
           "50051).";
  if (Has(cause, "not in peer certificate") || Has(cause, "Hostname Verification") ||
      Has(cause, "Hostname mismatch"))
    return "The certificate of the server is of another name. Use a name in the certificate, or a "
           "certificate for this address.";
  if (Has(cause, "CERTIFICATE_VERIFY_FAILED") || Has(cause, "certificate verify failed"))
    return "The certificate of the server is signed by an unknown authority, or has expired. Give "
           "its authority with --ca FILE (ca_file).";
  if (Has(cause, "WRONG_VERSION_NUMBER") || Has(cause, "wrong version number"))
    return "The server does not speak TLS here, or this is not the gRPC port.";
  const bool has_tls = options.tls || !options.ca_file.empty() || !options.certificate_file.empty();
  if (!has_tls && (Has(cause, "Socket closed") || Has(cause, "Connection reset") ||
                   Has(cause, "recvmsg") || Has(cause, "Broken pipe") || Has(cause, "SETTINGS")))
    return "The server ended the connection. If it speaks TLS, give --tls or --ca FILE. If this is "
           "the port of the page, give the gRPC port (--grpc-port of the server, 50051).";
  if (has_tls && Has(cause, "andshake"))
    return "The TLS handshake failed. Check that this is the gRPC port, and that the server speaks "
           "TLS.";
  return "Start one with `pliantd serve`, or name another with --server HOST:PORT or "
         "PLIANT_SERVER.";
}

std::optional<std::pair<int, int>> ParseVersion(std::string_view version) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(version.data(), version.size()), '.');
  std::pair<int, int> numbers;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &numbers.first) ||
      !absl::SimpleAtoi(parts[1], &numbers.second))
    return std::nullopt;
  return numbers;
}

// True while this thread runs a callback of CallAsync.
thread_local bool is_in_callback = false;

// Sets a deadline by the monotonic clock, since the time of day may jump. Zero: none.
void SetTimeout(std::chrono::milliseconds timeout, grpc::ClientContext* context) {
  if (timeout.count() <= 0) return;
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                     gpr_time_from_millis(timeout.count(), GPR_TIMESPAN)));
}

}  // namespace

Connection::Context::Context(Connection* connection) : connection_(connection) {
  const std::string token = connection_->Token();
  if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
  const std::lock_guard lock(connection_->mutex_);
  connection_->under_way_.insert(&context_);
}

Connection::Context::~Context() {
  const std::lock_guard lock(connection_->mutex_);
  connection_->under_way_.erase(&context_);
}

absl::StatusOr<std::shared_ptr<Connection>> Connection::Make(const ClientOptions& options) {
  if (absl::Status status = CheckAddress(options.address); !status.ok()) return status;
  auto credentials = MakeCredentials(options);
  if (!credentials.ok()) return credentials.status();
  if (!options.token_file.empty()) {
    const absl::StatusOr<std::string> token = ReadWholeFile(options.token_file);
    if (!token.ok()) return token.status();
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // requests are never repeated
  // each client of a program has its own connection
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto backoff = static_cast<int>(options.max_backoff.count());
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, std::max(backoff / 10, 10));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, std::max(backoff, 10));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);  // the limit of one attempt
  std::shared_ptr<Connection> connection(new Connection(options));
  connection->channel_ = grpc::CreateCustomChannel(options.address, *credentials, arguments);
  connection->stub_ = std::make_unique<
      grpc::TemplatedGenericStub<google::protobuf::MessageLite, google::protobuf::MessageLite>>(
      connection->channel_);
  return connection;
}

// The token of the next call. A file that cannot be read leaves the last one.
std::string Connection::Token() {
  if (options_.token_file.empty()) return options_.token;
  struct stat status {};
  const std::lock_guard lock(mutex_);
  if (stat(options_.token_file.c_str(), &status) != 0) return token_;
  const std::int64_t changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (changed == token_changed_) return token_;
  const absl::StatusOr<std::string> content = ReadWholeFile(options_.token_file);
  if (!content.ok()) return token_;
  const std::vector<std::string> lines = absl::StrSplit(*content, '\n');
  token_ = std::string(absl::StripAsciiWhitespace(lines.front()));
  token_changed_ = changed;
  return token_;
}

void Connection::Start(const char* method, const google::protobuf::MessageLite& request,
                       google::protobuf::MessageLite* response, std::chrono::milliseconds timeout,
                       std::function<void(const absl::Status&)> done) {
  struct State {
    std::shared_ptr<Connection> connection;
    std::unique_ptr<Context> context;
    std::function<void(const absl::Status&)> done;
  };
  const auto state = std::make_shared<State>();
  state->connection = shared_from_this();
  state->context = std::make_unique<Context>(this);
  state->done = std::move(done);
  SetTimeout(timeout, state->context->get());
  {
    const std::lock_guard lock(mutex_);
    ++callbacks_;
  }
  stub_->UnaryCall(state->context->get(), method, {}, &request, response,
                   [state](const grpc::Status& status) {
                     is_in_callback = true;
                     state->done(state->connection->Translate(status));
                     state->done = nullptr;
                     state->context.reset();
                     state->connection->EndCallback(&state->connection);
                     is_in_callback = false;
                   });
}

// A channel should not be destroyed on a thread of gRPC, so this keeps the last reference for the
// thread in WaitForCallbacks. There is no such thread if a callback has released the client; then
// the connection is destroyed here.
void Connection::EndCallback(std::shared_ptr<Connection>* self) {
  std::shared_ptr<Connection> last;
  const std::lock_guard lock(mutex_);
  if (self->use_count() > 1) {
    self->reset();
  } else {
    last.swap(*self);
  }
  --callbacks_;
  callback_ended_.notify_all();
}

void Connection::WaitForCallbacks() {
  if (is_in_callback) return;
  std::unique_lock lock(mutex_);
  callback_ended_.wait(lock, [&] { return callbacks_ == 0; });
}

absl::Status Connection::Call(const char* method, const google::protobuf::MessageLite& request,
                              google::protobuf::MessageLite* response,
                              std::chrono::milliseconds timeout) {
  using google::protobuf::MessageLite;
  Context context(this);
  SetTimeout(timeout, context.get());
  return Translate(grpc::internal::BlockingUnaryCall<MessageLite, MessageLite>(
      channel_.get(), grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::NORMAL_RPC),
      context.get(), request, response));
}

std::unique_ptr<Connection::ByteStream> Connection::Open(const char* method, Context* context) {
  using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
  return std::unique_ptr<ByteStream>(Factory::Create(
      channel_.get(), grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::BIDI_STREAMING),
      context->get()));
}

absl::Status Connection::Translate(const grpc::Status& status) const {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty() &&
      !message.starts_with("the server")) {
    message = absl::StrCat("no server answers at ", options_.address, " (", message, ")\n    ",
                           FindMend(status.error_message(), options_));
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
             status.error_details().empty()) {
    message = absl::StrCat("no answer from ", options_.address, " in time (", message, ")");
  } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    message = absl::StrCat(options_.address, " does not have this method (", message,
                           "): the server is older than this client (" PLIANT_VERSION
                           "), or is no Pliant server. `pliant doctor` shows its version.");
  }
  google::rpc::Status whole;
  if (!whole.ParseFromString(status.error_details())) whole.Clear();
  whole.set_code(status.error_code());
  whole.set_message(message);
  return ReadStatus(whole);
}

void Connection::CancelAll() {
  const std::lock_guard lock(mutex_);
  for (grpc::ClientContext* context : under_way_) context->TryCancel();
}

std::string Connection::name() const {
  return options_.name.empty() ? UserAtHost() : options_.name;
}

absl::Status CheckVersions(std::string_view client, std::string_view server) {
  const auto ours = ParseVersion(client), theirs = ParseVersion(server);
  if (!ours || !theirs) return absl::OkStatus();
  const bool fits = ours->first == theirs->first && (ours->first > 0 || *ours == *theirs);
  if (fits) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the server is ", *theirs < *ours ? "older" : "newer", " (", std::string(server),
                   ") than this client (", std::string(client),
                   "), and they are not compatible; "
                   "use a client of version ",
                   theirs->first, ".", theirs->second));
}

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

void CopyBytes(const grpc::ByteBuffer& buffer, std::string* bytes) {
  bytes->clear();
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return;
  bytes->reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    bytes->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

}  // namespace pliant
