"""What the model "generates": one script for every server.

A script is a list of engine steps; a step is a list of tokens; a token is a
str, or bytes when it is a piece of a character.  Ids and log-probabilities
follow from the token's text, so that every run gives the same bytes.
"""

import math
import struct
import zlib

SPECIAL = {
    "<|endoftext|>": 151643,
    "<|im_start|>": 151644,
    "<|im_end|>": 151645,
    "<tool_call>": 151657,
    "</tool_call>": 151658,
    "<think>": 151667,
    "</think>": 151668,
}
OTHERS = ["I", "\n", "\"", "A", b"\xe2"]
PROMPT = ["<|im_start|>", "user", "\n", "Hi", "<|im_end|>", "\n",
          "<|im_start|>", "assistant", "\n"]


def as_bytes(token):
    return token if isinstance(token, bytes) else token.encode()


def token_id(token):
    if isinstance(token, str) and token in SPECIAL:
        return SPECIAL[token]
    return 256 + zlib.crc32(as_bytes(token)) % 140000


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def logprob(token):
    """A float32 as engines have them: 0, tiny or ordinary."""
    h = zlib.crc32(as_bytes(token) + b"logprob")
    if h % 7 < 2:
        return [0.0, -(2.0 ** -23)][h % 7]
    return float32(-(h % 9001) / 9001)


def top(token, k):
    """The k most likely as [(token, logprob)], the sampled one first."""
    row = [(token, logprob(token))]
    for other in [o for o in OTHERS if o != token]:
        h = zlib.crc32(as_bytes(token) + as_bytes(other))
        row.append((other, -2.5 * len(row) - h % 8 / 8))
    if zlib.crc32(as_bytes(token)) % 4 == 0:
        row[4] = (row[4][0], -math.inf)
    return row[:k]


def prompt_ids():
    return [token_id(t) for t in PROMPT]


def every_token(scripts):
    seen = {}
    for t in (t for script in scripts for step in script for t in step):
        seen[token_id(t)] = t
    for t in OTHERS + PROMPT + list(SPECIAL):
        seen[token_id(t)] = t
    return seen


def each(*tokens):
    """One token a step."""
    return [[t] for t in tokens]


END = "<|im_end|>"

TEXT = each("Hello", " world", "!", END)

# what a scanner may trip over: our own members' names in the text, escapes,
# a NUL, a lone CR, non-ASCII, a character in pieces, and one from plane 1
TRICKY = each('"logprobs', '":null', ',"token_ids":null', "\\", "\u0000",
              "\r\n\u007f\u2028", b"\xf0\x9f", b"\x98\x80", "\u00e9/", END)

# several tokens a step, as with speculative decoding
MULTI = [["Let", " me"], [" see", ".", " It"], [" is", " 4"], [".", END]]

TOOL_JSON = each("<tool_call>", "\n", '{"name": "read', '", "arguments": ',
                 '{"path": "', 'a/b.c"}', "}", "\n", "</tool_call>", END)
TOOLS = each("Ok", ".") + TOOL_JSON
SHORT_TOOL = each("<tool_call>", '\n{"name": "ls", "arguments": {}}',
                  "\n</tool_call>", END)
TWO_TOOLS = each("<tool_call>", '{"name": "ls", "arguments": {', "}}",
                 "</tool_call>", "\n",
                 "<tool_call>", '{"name": "pwd", "arguments": {', "}}",
                 "</tool_call>", END)
TWO_TAGGED = each("<tool_call>", "<function=ls>", "</function>",
                  "</tool_call>", "\n",
                  "<tool_call>", "<function=pwd>", "</function>",
                  "</tool_call>", END)

THINK = each("<think>", "\n", "Easy", "</think>", "\n\n", "Yes", END)

CUT = each("One", ",", " two")  # finish_reason length
STOPPED = each("Go", " on", " until", " STOP", " never")  # a stop string
BROKEN = each("It", " goes", " well")  # then the engine fails
FIRST, SECOND = (each("Heads", ".", END), each("Tails", " it", " is", END))

ALL = [TEXT, TRICKY, MULTI, TOOLS, SHORT_TOOL, TWO_TOOLS, TWO_TAGGED, THINK,
       CUT, STOPPED, BROKEN, FIRST, SECOND]


def make_tokenizer():
    """A byte-level tokenizer whose vocabulary is the scripts' tokens."""
    from tokenizers import (AddedToken, Tokenizer, decoders, models,
                            pre_tokenizers)
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    byte = bytes_to_unicode()
    vocab = {byte[b]: b for b in range(256)}
    for number, token in every_token(ALL).items():
        if token not in SPECIAL:
            vocab["".join(byte[b] for b in as_bytes(token))] = number
    used = set(vocab.values()) | set(SPECIAL.values())
    for number in range(max(used)):
        if number not in used:
            vocab[f"unused{number}"] = number
    vocab.update(SPECIAL)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    for token in SPECIAL:
        tokenizer.add_tokens([AddedToken(token, special=False)])
    tokenizer.add_special_tokens([AddedToken(END, special=True)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)
    for token, number in SPECIAL.items():
        assert fast.convert_tokens_to_ids(token) == number, token
    return fast


TOOL_SPECS = [{"type": "function", "function": {
    "name": name, "parameters": {"type": "object", "properties": properties}}}
    for name, properties in (("read", {"path": {"type": "string"}}),
                             ("ls", {}), ("pwd", {}))]
MESSAGES = [{"role": "user", "content": "Hi"}]
CREATED = 1790000000

# what the proxy adds; some pairs do with less of it, to stay small
OURS = {"logprobs": True, "top_logprobs": 5, "return_token_ids": True}
USAGE = {"stream_options": {"include_usage": True}}
