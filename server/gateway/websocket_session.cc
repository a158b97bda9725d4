#include "server/gateway/websocket_session.h"

#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/websocket.hpp"
#include "spdlog/spdlog.h"
#include <netinet/tcp.h>

#include "pliant/v1/gateway.pb.h"
#include "server/auth/tokens.h"
#include "server/host/text.h"
#include "server/service/command_feedback.h"
#include "server/service/errors.h"
#include "server/service/handlers.h"
#include "server/service/methods.h"
#include "server/service/stream_watch.h"

namespace pliant::server {

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

namespace {

constexpr std::size_t kMaxMessage = 4 << 20;
constexpr std::size_t kMaxReplies = 256;
constexpr std::size_t kMaxReplyBytes = 64 << 20;
constexpr std::chrono::seconds kHandshakeTime{10};
constexpr std::chrono::seconds kCloseTime{2};
constexpr std::chrono::seconds kHelloTime{10};
constexpr int kMaxAnonymousMessages = 8;
constexpr std::size_t kMaxReason = 120;  // bytes; the protocol has room for 123
constexpr double kMaxTimeout = 86400;    // [s]
constexpr int kUnsentBytes = 128 * 1024;

absl::string_view AsText(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

// One client. All members are used on the gateway's thread only; other threads post to it.
//
// Messages are sent in this order of priority: replies (in sequence; a client that leaves too many
// unread is disconnected), the feedback of commands, and frames. The last two are slots that hold
// only the latest message.
class WebSocketSession : public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(Connection connection, GatewayContext* context)
      : socket_(std::move(connection)),
        timer_(socket_.get_executor()),
        context_(context),
        handlers_(context->handlers) {
    context_->websockets.fetch_add(1);
  }
  ~WebSocketSession() {
    Leave();
    context_->websockets.fetch_sub(1);
  }

  void Accept(http::request<http::string_body> request) {
    number_ = context_->next_session++;
    connection_ = absl::StrCat("ws-", number_);
    Identify(handlers_->Identify(ReadBearer(AsText(request[http::field::authorization]))));
    context_->sessions[number_] = weak_from_this();
    beast::error_code ignored;
    auto& tcp = beast::get_lowest_layer(socket_).socket();
    tcp.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    // data that the kernel buffers for a slow client is lag, so limit it
    setsockopt(tcp.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes,
               sizeof(kUnsentBytes));

    socket_.set_option(
        websocket::stream_base::timeout{kHandshakeTime, context_->idle_timeout, true});
    socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
      response.set(http::field::server, "pliant");
      response.set(http::field::sec_websocket_protocol, kWebSocketProtocol);
    }));
    socket_.read_message_max(kMaxMessage);
    socket_.binary(true);
    socket_.auto_fragment(false);
    socket_.async_accept(request, [self = shared_from_this()](beast::error_code error) {
      if (error) return self->Leave();
      self->is_open_ = true;
      if (self->closing_) return self->SendClose();
      spdlog::info("event=client_connected client={}", self->connection_);
      self->ExpectHello();
      self->Read();
    });
  }

  void Close(websocket::close_code code, const std::string& reason) {
    if (closing_) return;
    closing_ = true;
    spdlog::info("event=client_closed client={} reason=\"{}\"", connection_, reason);
    close_reason_ = {code, Shorten(reason, kMaxReason)};
    // while the handshake is being answered, nothing else may be written
    if (is_open_) SendClose();

    // disconnect a client that does not answer the close message
    timer_.expires_after(kCloseTime);
    timer_.async_wait([self = shared_from_this()](beast::error_code error) {
      if (!error) beast::get_lowest_layer(self->socket_).close();
    });
  }

 private:
  void SendClose() {
    socket_.async_close(close_reason_,
                        [self = shared_from_this()](beast::error_code) { self->Leave(); });
  }

  // Passes frames from the pool's threads to the session, if it is still there.
  class Sink : public FrameSink {
   public:
    explicit Sink(std::weak_ptr<WebSocketSession> session) : session_(std::move(session)) {}
    void SendFrame(const FrameHead& frame, std::shared_ptr<const std::string> body) override {
      std::string head = EncodeFrameHead(frame, body->size(), true);
      Post([head = std::move(head), body = std::move(body)](WebSocketSession& session) mutable {
        session.frame_slot_.emplace(std::move(head), std::move(body));
        session.WriteNext();
      });
    }
    void SendEnd(const absl::Status& why) override {
      v1::ServerMessage message;
      message.mutable_stream()->mutable_notice()->set_reason(std::string(why.message()));
      message.mutable_stream()->mutable_notice()->set_final(true);
      Post([bytes = message.SerializeAsString()](WebSocketSession& session) mutable {
        session.EndStream();
        session.Queue(std::move(bytes));
      });
    }

   private:
    template <typename F>
    void Post(F action) {
      const std::shared_ptr<WebSocketSession> session = session_.lock();
      if (session == nullptr) return;
      boost::asio::post(session->socket_.get_executor(),
                        [session, action = std::move(action)]() mutable { action(*session); });
    }
    const std::weak_ptr<WebSocketSession> session_;
  };

  void Read() {
    socket_.async_read(buffer_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (error) return self->Leave();
      self->OnRead();
    });
  }

  void OnRead() {
    v1::ClientMessage message;
    const bool binary = socket_.got_binary();
    const bool parsed =
        binary && message.ParseFromArray(buffer_.data().data(), static_cast<int>(buffer_.size()));
    buffer_.consume(buffer_.size());
    if (!parsed) {
      return Close(websocket::close_code::bad_payload, "expected a binary pliant.v1.ClientMessage");
    }
    Handle(message);
    if (!closing_ && !left_) Read();
  }

  // Sets the identity of the caller, or the reason why it has none.
  void Identify(absl::StatusOr<Identity> identity) {
    const std::string label = caller_->label;
    caller_ = std::make_shared<Caller>();
    caller_->connection = caller_->name = connection_;
    caller_->label = label;
    if (!identity.ok()) {
      caller_->refusal = identity.status();
      return;
    }
    if (!identity->name.empty()) caller_->name = identity->name;
    caller_->identity = *std::move(identity);
    if (!handlers_->has_accounts()) return;
    watch_ =
        StreamWatch::Open(handlers_, caller_, [weak = weak_from_this()](const absl::Status& why) {
          const std::shared_ptr<WebSocketSession> session = weak.lock();
          if (session == nullptr || !absl::IsUnauthenticated(why)) return;
          boost::asio::post(session->socket_.get_executor(), [session, why] {
            session->Close(websocket::close_code::policy_error, std::string(why.message()));
          });
        });
  }

  // Refuses a message of a client without an identity; closes the connection after a few.
  void RefuseAnonymous(std::uint64_t id) {
    if (++anonymous_messages_ > kMaxAnonymousMessages)
      return Close(websocket::close_code::policy_error, std::string(caller_->refusal.message()));
    Refuse(id, caller_->refusal);
  }

  bool IsIdentified() const { return !caller_->identity.grants.empty(); }

  // Closes a connection that shows no token in time.
  void ExpectHello() {
    if (IsIdentified()) return;
    timer_.expires_after(kHelloTime);
    timer_.async_wait([self = shared_from_this()](beast::error_code error) {
      if (error || self->left_ || self->IsIdentified()) return;
      self->Close(websocket::close_code::policy_error, "no token came in time");
    });
  }

  void Handle(const v1::ClientMessage& message) {
    const std::uint64_t id = message.request_id();
    if (!message.has_hello() && !IsIdentified()) return RefuseAnonymous(id);
    switch (message.message_case()) {
      case v1::ClientMessage::kHello:
        return Greet(id, message.hello());
      case v1::ClientMessage::kCall:
        return Ask(id, message.call());
      case v1::ClientMessage::kSubscribe:
        return Subscribe(id, message.subscribe());
      case v1::ClientMessage::kCommand:
        return Command(message.command());
      case v1::ClientMessage::MESSAGE_NOT_SET:
        break;
    }
    Refuse(id,
           absl::InvalidArgumentError("the message is empty, or of a kind unknown to this server"));
  }

  // Calls a method. Its reply is queued on the gateway's thread; an error is sent even if no reply
  // was requested.
  void Ask(std::uint64_t id, const v1::MethodCall& asked) {
    context_->pacing.OnRequest();
    Call call = MakeCall();
    if (!(asked.timeout() >= 0 && asked.timeout() <= kMaxTimeout)) {
      return Refuse(
          id, absl::InvalidArgumentError(absl::StrCat(
                  "timeout: ", asked.timeout(), " is not allowed; expected 0 (none) to 86400 s")));
    }
    if (asked.timeout() > 0) {
      call.limits.deadline =
          handlers_->timeline().Now() + std::chrono::duration_cast<SteadyTime::duration>(
                                            std::chrono::duration<double>(asked.timeout()));
    }
    const auto answer = [weak = weak_from_this(), id](absl::StatusOr<std::string> result) {
      const std::shared_ptr<WebSocketSession> session = weak.lock();
      if (session == nullptr || (id == 0 && result.ok())) return;
      v1::ServerMessage reply;
      reply.set_request_id(id);
      if (result.ok()) {
        reply.set_reply(*std::move(result));
      } else {
        *reply.mutable_status() = WriteStatus(result.status());
      }
      boost::asio::post(session->socket_.get_executor(),
                        [session, bytes = reply.SerializeAsString()]() mutable {
                          session->Queue(std::move(bytes));
                        });
    };
    Dispatch(*handlers_, call, asked.method(), asked.request(), answer);
  }

  Call MakeCall() const { return {caller_, {SteadyTime::max(), gone_}}; }

  void Greet(std::uint64_t id, const v1::Hello& hello) {
    caller_->label = hello.client();
    if (!IsIdentified()) Identify(handlers_->Identify(hello.token()));
    if (!IsIdentified()) {
      handlers_->Audit(*caller_, "Hello", "", caller_->refusal);
      return RefuseAnonymous(id);
    }
    // a connection keeps its user, against whose limits it counts
    if (handlers_->has_accounts() && !hello.token().empty() &&
        HashToken(hello.token()) != caller_->identity.credential) {
      return Refuse(id, absl::FailedPreconditionError(
                            absl::StrCat("this connection belongs to ", caller_->name,
                                         "; open another one for another token")));
    }
    v1::ServerMessage reply;
    reply.set_request_id(id);
    reply.mutable_welcome()->set_version(context_->version);
    reply.mutable_welcome()->set_session_id(connection_);
    std::string world;
    for (const auto& host : handlers_->registry().List()) {
      if (!caller_->identity.Has(Role::kViewer, host->settings()->labels)) continue;
      if (world.empty() || host->id() == "default") world = host->id();
    }
    if (!world.empty()) reply.mutable_welcome()->set_default_world("worlds/" + world);
    Queue(reply.SerializeAsString());
  }

  void Subscribe(std::uint64_t id, const v1::SubscribeRequest& request) {
    if (request.has_ack() && stream_ != nullptr)
      stream_->Ack(request.ack().frame(), handlers_->timeline().Now());
    if (!request.has_subscription()) return;
    absl::StatusOr<Subscription> subscription =
        handlers_->Subscribe(MakeCall(), request.subscription());
    if (!subscription.ok()) return Refuse(id, subscription.status());
    if (stream_ != nullptr) {
      stream_->Change(*std::move(subscription));
    } else {
      sink_ = std::make_unique<Sink>(weak_from_this());
      stream_ = handlers_->MakeStream(sink_.get(), *std::move(subscription));
      stream_->Open();
    }
    if (id != 0) {
      v1::ServerMessage reply;
      reply.set_request_id(id);
      reply.mutable_status();
      Queue(reply.SerializeAsString());
    }
  }

  void EndStream() {
    if (stream_ != nullptr) stream_->Close();
    stream_.reset();
    frame_slot_.reset();
  }

  void Command(const v1::CommandRequest& request) {
    if (feedback_ == nullptr) OpenFeedback();
    std::optional<v1::CommandResponse> refused = feedback_->Submit(request);
    if (!refused) return;
    v1::ServerMessage reply;
    *reply.mutable_command() = *std::move(refused);
    Queue(reply.SerializeAsString());
  }

  void OpenFeedback() {
    feedback_ = std::make_shared<CommandFeedback>(
        handlers_, MakeCall(), [weak = weak_from_this()](const v1::CommandResponse& response) {
          const std::shared_ptr<WebSocketSession> session = weak.lock();
          if (session == nullptr) return;
          v1::ServerMessage message;
          *message.mutable_command() = response;
          boost::asio::post(session->socket_.get_executor(),
                            [session, bytes = message.SerializeAsString()]() mutable {
                              session->feedback_slot_ = std::move(bytes);
                              session->WriteNext();
                            });
        });
    feedback_->Open();
  }

  void Refuse(std::uint64_t id, const absl::Status& status) {
    v1::ServerMessage reply;
    reply.set_request_id(id);
    *reply.mutable_status() = WriteStatus(status);
    Queue(reply.SerializeAsString());
  }

  void Queue(std::string bytes) {
    if (closing_ || left_) return;
    reply_bytes_ += bytes.size();
    replies_.push_back(std::move(bytes));
    if (replies_.size() > kMaxReplies || reply_bytes_ > kMaxReplyBytes) {
      return Close(websocket::close_code::policy_error, "too many unread replies");
    }
    WriteNext();
  }

  void WriteNext() {
    if (writing_ || closing_ || left_) return;
    std::array<boost::asio::const_buffer, 2> buffers;
    enum class Kind { kReply, kFeedback, kFrame } kind;
    if (!replies_.empty()) {
      kind = Kind::kReply;
      out_ = std::move(replies_.front());
      reply_bytes_ -= out_.size();
      replies_.pop_front();
      buffers[0] = boost::asio::buffer(out_);
    } else if (feedback_slot_) {
      kind = Kind::kFeedback;
      out_ = *std::exchange(feedback_slot_, std::nullopt);
      buffers[0] = boost::asio::buffer(out_);
    } else if (frame_slot_) {
      kind = Kind::kFrame;
      out_ = std::move(frame_slot_->first);
      out_body_ = std::move(frame_slot_->second);
      frame_slot_.reset();
      buffers = {boost::asio::buffer(out_), boost::asio::buffer(*out_body_)};
    } else {
      return;
    }
    writing_ = true;
    socket_.async_write(buffers,
                        [self = shared_from_this(), kind](beast::error_code error, std::size_t) {
                          self->writing_ = false;
                          if (error) return self->Leave();
                          if (kind == Kind::kFrame && self->stream_ != nullptr)
                            self->stream_->Ready();
                          if (kind == Kind::kFeedback && self->feedback_ != nullptr)
                            self->feedback_->Ready();
                          self->WriteNext();
                        });
  }

  // Releases everything that outlives the connection.
  void Leave() {
    if (std::exchange(left_, true)) return;
    gone_->store(true);
    timer_.cancel();
    if (watch_ != nullptr) watch_->Close();
    EndStream();
    if (feedback_ != nullptr) feedback_->Close();
    context_->sessions.erase(number_);
    if (!closing_) spdlog::info("event=client_left client={}", connection_);
  }

  websocket::stream<Connection, false>
      socket_;                       // compression would cost the browser more than it saves
  boost::asio::steady_timer timer_;  // until the token, then of the close message
  GatewayContext* const context_;
  Handlers* const handlers_;
  std::uint64_t number_ = 0;
  std::string connection_;
  std::shared_ptr<Caller> caller_ = std::make_shared<Caller>();
  int anonymous_messages_ = 0;          // received without an identity
  std::shared_ptr<StreamWatch> watch_;  // of the token
  beast::flat_buffer buffer_;
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);

  std::unique_ptr<Sink> sink_;
  std::shared_ptr<FrameStream> stream_;
  std::shared_ptr<CommandFeedback> feedback_;

  std::deque<std::string> replies_;
  std::size_t reply_bytes_ = 0;
  std::optional<std::string> feedback_slot_;
  std::optional<std::pair<std::string, std::shared_ptr<const std::string>>> frame_slot_;
  std::string out_;
  std::shared_ptr<const std::string> out_body_;
  bool writing_ = false;
  bool closing_ = false;
  bool is_open_ = false;  // the handshake has been answered
  websocket::close_reason close_reason_;
  bool left_ = false;
};

void ServeWebSocket(Connection connection, http::request<http::string_body> request,
                    GatewayContext* context) {
  std::make_shared<WebSocketSession>(std::move(connection), context)->Accept(std::move(request));
}

void CloseWebSocket(WebSocketSession& session) {
  session.Close(websocket::close_code::going_away, "the server is shutting down");
}

}  // namespace pliant::server
