#!/usr/bin/env python3
"""A model server whose answers are real ones with errors made in them.

mutating_upstream.py SEED CALLS PORT FILE...: listens, says where, makes CALLS
calls to the proxy whose port it reads from the file PORT, and says how many were
answered.
"""
import random
import socket
import sys
import threading

seed, calls, port_file, *files = sys.argv[1:]
rng = random.Random(int(seed))
answers = [(name.endswith("sse"), open(name, "rb").read()) for name in files]
inserts = [b"\r\n", b"\n\n", b"\r", b"\0", b"{", b"[", b'"', b"data: ", b"\\u",
           b"data: [DONE]\n\n", b"0\r\n\r\n", b'{"error":1}', b":", b" "]


def mutate(text, most):
    text = bytearray(text)
    for _ in range(rng.randint(0, most)):
        what, at = rng.random(), rng.randrange(len(text) + 1)
        if what < 0.4:
            text[at:at + 1] = bytes([rng.randrange(256)])
        elif what < 0.6:
            del text[at:at + rng.randint(1, 40)]
        elif what < 0.8:
            text[at:at] = rng.choice(inserts)
        else:
            begin = rng.randrange(len(text) + 1)
            text[at:at] = text[begin:begin + 300]
    return bytes(text)


def make_answer():
    stream, text = rng.choice(answers)
    body = mutate(text, 4)
    status = rng.choice([200] * 12 + [101, 201, 204, 400, 422, 500])
    kind = b"text/event-stream" if stream else b"application/json"
    head = b"HTTP/1.1 %d X\r\nContent-Type: %s\r\n" % (status, kind)
    if rng.random() < 0.5:
        length = rng.choice([1, 10, 200, 5000])
        pieces = [body[i:i + length] for i in range(0, len(body), length)]
        head += b"Transfer-Encoding: chunked\r\n"
        body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces)
        body += b"0\r\n\r\n"
    text = head + b"Connection: close\r\n\r\n" + body
    return mutate(text, 4) if rng.random() < 0.3 else text


def serve(listener):
    while True:
        connection, _ = listener.accept()
        with connection:
            request = b""
            while not request.endswith(b"}]}"):
                more = connection.recv(65536)
                if not more:
                    break
                request += more
            try:
                text = make_answer()
                length = rng.choice([7, 3000, 100000])
                for i in range(0, len(text), length):
                    connection.sendall(text[i:i + length])
            except OSError:
                pass


def call(port, number):
    members = b'"stream":true,' if number % 2 else b""
    body = b'{"model":"m",%s"messages":[{"role":"user"}]}' % members
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body))
        answer = b""
        while True:
            more = connection.recv(65536)
            if not more:
                return answer.startswith(b"HTTP/1.1 ")
            answer += more


listener = socket.create_server(("127.0.0.1", 0))
print('{"event":"listening","port":%d}' % listener.getsockname()[1], flush=True)
threading.Thread(target=serve, args=(listener,), daemon=True).start()
with open(port_file) as file:
    port = int(file.readline())
answered = sum(call(port, number) for number in range(int(calls)))
print('{"event":"called","answered":%d}' % answered, flush=True)
