"""A name server: tests/fake/dns.py ADDRESS NAME

NAME and what is below it is at 127.0.0.1; no other name exists.
"""
import socket
import struct
import sys

TYPE_A = 1
NO_SUCH_NAME = 3


def name_in(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
        at += 1 + query[at]
    return ".".join(labels), at + 1


def answer(query, known):
    name, end = name_in(query)
    (kind,) = struct.unpack_from(">H", query, end)
    is_known = name == known or name.endswith("." + known)
    record = b""
    if is_known and kind == TYPE_A:
        record = struct.pack(">HHHIH", 0xC00C, TYPE_A, 1, 60, 4)
        record += socket.inet_aton("127.0.0.1")
    flags = 0x8580 | (0 if is_known else NO_SUCH_NAME)
    head = struct.pack(">HHHHHH", struct.unpack_from(">H", query)[0], flags,
                       1, 1 if record else 0, 0, 0)
    return head + query[12 : end + 4] + record


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
print('{"event":"listening","port":53}', flush=True)
while True:
    query, peer = server.recvfrom(4096)
    server.sendto(answer(query, sys.argv[2]), peer)
