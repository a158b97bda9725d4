"""The services of a server, known by reflection alone."""

from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

TIMEOUT = 60  # [s]


class Reflected:
    """The services of a server, called with dictionaries of fields."""

    def __init__(self, channel):
        self.channel = channel
        self.database = ProtoReflectionDescriptorDatabase(channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)

    def services(self):
        return set(self.database.get_services())

    def _find(self, service, method):
        return self.pool.FindServiceByName(f"pliant.v1.{service}").FindMethodByName(method)

    def streams(self, service, method):
        return self._find(service, method).server_streaming

    def method(self, service, method):
        """Path, class of the request and class of the response."""
        found = self._find(service, method)
        request = message_factory.GetMessageClass(found.input_type)
        response = message_factory.GetMessageClass(found.output_type)
        return f"/pliant.v1.{service}/{method}", request, response

    def call(self, service, method, **fields):
        path, request, response = self.method(service, method)
        call = self.channel.unary_unary(path, lambda message: message.SerializeToString(), response.FromString)
        return call(request(**fields), timeout=TIMEOUT)

    def stream(self, service, method, requests):
        path, request, response = self.method(service, method)
        call = self.channel.stream_stream(path, lambda message: message.SerializeToString(), response.FromString)
        return call((request(**fields) for fields in requests), timeout=TIMEOUT)
