#include "server/gateway/websocket_session.h"

#include <array>
#include <chrono>
#include <deque>
#include <map>
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
#include "server/rpc/command_feedback.h"
#include "server/rpc/errors.h"
#include "server/rpc/handlers.h"

namespace pliant::server {

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using google::protobuf::Empty;

namespace {

constexpr std::size_t kMaxMessage = 4 << 20;
constexpr std::size_t kMaxReplies = 256;
constexpr std::size_t kMaxReplyBytes = 64 << 20;
constexpr int kMaxRequests = 64;  // unanswered
constexpr std::chrono::seconds kHandshakeTime{10};
constexpr std::chrono::seconds kIdleTimeout{30};  // a ping is sent after half of it
constexpr std::chrono::seconds kCloseTime{2};
constexpr int kUnsentBytes = 128 * 1024;

void SetReply(v1::World world, v1::ServerMessage* message) {
  *message->mutable_world() = std::move(world);
}
void SetReply(v1::ListWorldsResponse worlds, v1::ServerMessage* message) {
  *message->mutable_worlds() = std::move(worlds);
}
void SetReply(v1::WorldDescription description, v1::ServerMessage* message) {
  *message->mutable_description() = std::move(description);
}
void SetReply(v1::StepWorldResponse stepped, v1::ServerMessage* message) {
  *message->mutable_stepped() = std::move(stepped);
}
void SetReply(v1::Lease lease, v1::ServerMessage* message) {
  *message->mutable_lease() = std::move(lease);
}
void SetReply(v1::CheckpointWorldResponse checkpoint, v1::ServerMessage* message) {
  *message->mutable_checkpoint() = std::move(checkpoint);
}
void SetReply(const Empty&, v1::ServerMessage* message) {
  message->mutable_status();
}

}  // namespace

// One client. All members are used on the gateway's thread only; other threads post to it.
//
// Messages are sent in this order of priority: replies (in sequence; a client that leaves too many
// unread is disconnected), the feedback of commands, and frames. The last two are slots that hold
// only the latest message.
class WebSocketSession : public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(beast::tcp_stream stream, GatewayContext* context)
      : socket_(std::move(stream)),
        close_timer_(socket_.get_executor()),
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
    context_->sessions[number_] = weak_from_this();
    beast::error_code ignored;
    auto& tcp = beast::get_lowest_layer(socket_).socket();
    tcp.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    // data that the kernel buffers for a slow client is lag, so limit it
    setsockopt(tcp.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes,
               sizeof(kUnsentBytes));

    socket_.set_option(websocket::stream_base::timeout{kHandshakeTime, kIdleTimeout, true});
    socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
      response.set(http::field::server, "pliant");
      response.set(http::field::sec_websocket_protocol, kWebSocketProtocol);
    }));
    socket_.read_message_max(kMaxMessage);
    socket_.binary(true);
    socket_.auto_fragment(false);
    socket_.async_accept(request, [self = shared_from_this()](beast::error_code error) {
      if (error) return self->Leave();
      spdlog::info("event=client_connected client=ws-{}", self->number_);
      self->Read();
    });
  }

  void Close(websocket::close_code code, const std::string& reason) {
    if (closing_) return;
    closing_ = true;
    spdlog::info("event=client_closed client=ws-{} reason=\"{}\"", number_, reason);
    socket_.async_close({code, reason},
                        [self = shared_from_this()](beast::error_code) { self->Leave(); });

    // disconnect a client that does not answer the close message
    close_timer_.expires_after(kCloseTime);
    close_timer_.async_wait([self = shared_from_this()](beast::error_code error) {
      if (!error) beast::get_lowest_layer(self->socket_).close();
    });
  }

 private:
  // Passes frames from the pump's thread to the session, if it is still there.
  class Sink : public FrameSink {
   public:
    explicit Sink(std::weak_ptr<WebSocketSession> session) : session_(std::move(session)) {}
    void SendFrame(std::shared_ptr<const std::string> body, std::uint64_t frame,
                   bool keyframe) override {
      std::string head = EncodeFrameHead(frame, keyframe, body->size(), true);
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

  void Handle(const v1::ClientMessage& message) {
    const std::uint64_t id = message.request_id();
    switch (message.message_case()) {
      case v1::ClientMessage::kHello:
        return Greet(id, message.hello());
      case v1::ClientMessage::kSubscribe:
        return Subscribe(id, message.subscribe());
      case v1::ClientMessage::kCommand:
        return Command(message.command());
      case v1::ClientMessage::kAcquireLease:
        return AcquireLease(id, message.acquire_lease());
      case v1::ClientMessage::MESSAGE_NOT_SET:
        return Refuse(id, absl::InvalidArgumentError(
                              "the message is empty, or of a kind unknown to this server"));
      default:
        break;
    }
    if (requests_ >= kMaxRequests) {
      return Refuse(
          id, absl::ResourceExhaustedError(absl::StrCat(
                  kMaxRequests, " requests are pending; wait for replies before sending more")));
    }
    Ask(id, message);
  }

  // Handles requests that are answered once, now or later.
  void Ask(std::uint64_t id, const v1::ClientMessage& m) {
    Handlers& handlers = *handlers_;
    switch (m.message_case()) {
      case v1::ClientMessage::kCreateWorld:
        return handlers.CreateWorld(m.create_world(), Answer<v1::World>(id));
      case v1::ClientMessage::kGetWorld:
        return handlers.GetWorld(m.get_world(), Answer<v1::World>(id));
      case v1::ClientMessage::kListWorlds:
        return handlers.ListWorlds(m.list_worlds(), Answer<v1::ListWorldsResponse>(id));
      case v1::ClientMessage::kDeleteWorld:
        return handlers.DeleteWorld(m.delete_world(), Answer<Empty>(id));
      case v1::ClientMessage::kDescribeWorld:
        return handlers.DescribeWorld(m.describe_world(), Answer<v1::WorldDescription>(id));
      case v1::ClientMessage::kStepWorld:
        return handlers.StepWorld(m.step_world(), {SteadyTime::max(), gone_},
                                  Answer<v1::StepWorldResponse>(id));
      case v1::ClientMessage::kSetClock:
        return handlers.SetClock(m.set_clock(), Answer<v1::World>(id));
      case v1::ClientMessage::kResetWorld:
        return handlers.ResetWorld(m.reset_world(), Answer<v1::World>(id));
      case v1::ClientMessage::kCheckpointWorld:
        return handlers.CheckpointWorld(m.checkpoint_world(),
                                        Answer<v1::CheckpointWorldResponse>(id));
      case v1::ClientMessage::kRestoreWorld:
        return handlers.RestoreWorld(m.restore_world(), Answer<v1::World>(id));
      case v1::ClientMessage::kForkWorld:
        return handlers.ForkWorld(m.fork_world(), Answer<v1::World>(id));
      case v1::ClientMessage::kReleaseLease:
        return handlers.ReleaseLease(m.release_lease(), Answer<Empty>(id));
      case v1::ClientMessage::kStopWorld:
        return handlers.StopWorld(m.stop_world(), Answer<Empty>(id));
      case v1::ClientMessage::kResumeWorld:
        return handlers.ResumeWorld(m.resume_world(), Answer<Empty>(id));
      default:
        return;
    }
  }

  void Greet(std::uint64_t id, const v1::Hello& hello) {
    client_ = hello.client();
    v1::ServerMessage reply;
    reply.set_request_id(id);
    reply.mutable_welcome()->set_version(context_->version);
    reply.mutable_welcome()->set_session_id(absl::StrCat("ws-", number_));
    const auto worlds = handlers_->registry().List();
    std::string world = worlds.empty() ? "" : worlds.front()->id();
    for (const auto& host : worlds) {
      if (host->id() == "default") world = host->id();
    }
    if (!world.empty()) reply.mutable_welcome()->set_default_world("worlds/" + world);
    Queue(reply.SerializeAsString());
  }

  void Subscribe(std::uint64_t id, const v1::SubscribeRequest& request) {
    if (request.has_ack() && stream_ != nullptr) stream_->Ack(request.ack().frame());
    if (!request.has_subscription()) return;
    absl::StatusOr<Subscription> subscription = handlers_->Subscribe(request.subscription());
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
      SetReply(Empty(), &reply);
      Queue(reply.SerializeAsString());
    }
  }

  void EndStream() {
    if (stream_ != nullptr) stream_->Close();
    stream_.reset();
    frame_slot_.reset();
  }

  void Command(const v1::CommandRequest& request) {
    v1::CommandResponse response = handlers_->Command(request);
    if (!response.refused().empty()) {
      v1::ServerMessage reply;
      *reply.mutable_command() = std::move(response);
      return Queue(reply.SerializeAsString());
    }
    if (feedback_ == nullptr) OpenFeedback();
    feedback_->Follow(request, response);
  }

  void OpenFeedback() {
    feedback_ = std::make_shared<CommandFeedback>(
        handlers_, [weak = weak_from_this()](const v1::CommandResponse& response) {
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

  void AcquireLease(std::uint64_t id, v1::AcquireLeaseRequest request) {
    if (request.client().empty()) request.set_client(client_);
    const Reply<v1::Lease> answer = Answer<v1::Lease>(id);
    handlers_->AcquireLease(request, [this, &answer](absl::StatusOr<v1::Lease> lease) {
      // called on this thread, before AcquireLease returns
      if (lease.ok()) leases_[{lease->world(), lease->target()}] = lease->lease_id();
      answer(std::move(lease));
    });
  }

  void Refuse(std::uint64_t id, const absl::Status& status) {
    v1::ServerMessage reply;
    reply.set_request_id(id);
    *reply.mutable_status() = WriteStatus(status);
    Queue(reply.SerializeAsString());
  }

  // Returns a callback that encodes a reply on the calling thread and queues it on the gateway's.
  // An error is sent even if no reply was requested.
  template <typename T>
  Reply<T> Answer(std::uint64_t id) {
    ++requests_;
    return [weak = weak_from_this(), id](absl::StatusOr<T> result) {
      const std::shared_ptr<WebSocketSession> session = weak.lock();
      if (session == nullptr) return;
      std::string bytes;
      if (id != 0 || !result.ok()) {
        v1::ServerMessage reply;
        reply.set_request_id(id);
        if (result.ok()) {
          SetReply(*std::move(result), &reply);
        } else {
          *reply.mutable_status() = WriteStatus(result.status());
        }
        bytes = reply.SerializeAsString();
      }
      boost::asio::post(session->socket_.get_executor(),
                        [session, bytes = std::move(bytes)]() mutable {
                          --session->requests_;
                          if (!bytes.empty()) session->Queue(std::move(bytes));
                        });
    };
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

  // Releases everything that outlives the connection. Motion stops when the client that commanded
  // it leaves.
  void Leave() {
    if (std::exchange(left_, true)) return;
    gone_->store(true);
    close_timer_.cancel();
    EndStream();
    if (feedback_ != nullptr) feedback_->Close();
    for (const auto& [target, lease_id] : leases_) {
      v1::ReleaseLeaseRequest request;
      request.set_world(target.first);
      request.set_lease_id(lease_id);
      handlers_->ReleaseLease(request, [](const absl::StatusOr<Empty>&) {});
    }
    context_->sessions.erase(number_);
    if (!closing_) spdlog::info("event=client_left client=ws-{}", number_);
  }

  websocket::stream<beast::tcp_stream, false>
      socket_;  // no compression: it would cost the browser more than it saves
  boost::asio::steady_timer close_timer_;
  GatewayContext* const context_;
  Handlers* const handlers_;
  std::uint64_t number_ = 0;
  std::string client_;
  beast::flat_buffer buffer_;
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);

  int requests_ = 0;
  std::map<std::pair<std::string, std::string>, std::string>
      leases_;  // latest id by world and target
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
  bool left_ = false;
};

void ServeWebSocket(beast::tcp_stream stream, http::request<http::string_body> request,
                    GatewayContext* context) {
  std::make_shared<WebSocketSession>(std::move(stream), context)->Accept(std::move(request));
}

void CloseWebSocket(WebSocketSession& session) {
  session.Close(websocket::close_code::going_away, "the server is shutting down");
}

}  // namespace pliant::server
