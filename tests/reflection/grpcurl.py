"""The part of grpcurl that docs/api.md uses: `grpcurl -plaintext [-d JSON] ADDRESS list|SERVICE/METHOD`.

Replies are printed as JSON, one per line. A stream has no end; its first three replies are printed.
"""

import argparse
import itertools
import json
import sys

import grpc
from google.protobuf import json_format
from reflected import TIMEOUT, Reflected

STREAMED = 3


def invoke(client, name, text):
    service, method = name.removeprefix("pliant.v1.").split("/")
    path, request, response = client.method(service, method)
    message = json_format.Parse(text, request())
    if client.streams(service, method):
        call = client.channel.stream_stream(path, request.SerializeToString, response.FromString)
        # like grpcurl, it ends its side of the stream after the last request
        return itertools.islice(call(iter([message]), timeout=TIMEOUT), STREAMED)
    call = client.channel.unary_unary(path, request.SerializeToString, response.FromString)
    return [call(message, timeout=TIMEOUT)]


def main():
    parser = argparse.ArgumentParser(prog="grpcurl")
    parser.add_argument("-plaintext", action="store_true", required=True)
    parser.add_argument("-d", default="{}")
    parser.add_argument("address")
    parser.add_argument("what")
    arguments = parser.parse_args()
    with grpc.insecure_channel(arguments.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        client = Reflected(channel)
        if arguments.what == "list":
            print("\n".join(sorted(client.services())))
            return 0
        try:
            for reply in invoke(client, arguments.what, arguments.d):
                fields = json_format.MessageToDict(reply, preserving_proto_field_name=True)
                print(json.dumps({arguments.what.removeprefix("pliant.v1."): fields}))
        except grpc.RpcError as error:
            print(f"ERROR: {error.code().name}: {error.details()}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
